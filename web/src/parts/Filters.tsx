// Filters of a list. Each is a parameter of the address.
import { useEffect, useRef, useState } from "preact/hooks"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { useSearch } from "./useAtom.ts"

interface Choice {
  readonly value: string
  readonly label: string
}

export const choices = (values: ReadonlyArray<string>): ReadonlyArray<Choice> =>
  values.map((value) => ({ value, label: value }))

interface SelectProps {
  readonly name: string
  readonly label: string
  readonly choices: ReadonlyArray<Choice>
  /** Label of the absence of the filter. */
  readonly any?: string
}

/** A value that no choice has, as in an old link, is shown as it is. */
export const SelectFilter = ({ name, label, choices, any = words.filters.any }: SelectProps) => {
  const { parameters, set } = useSearch()
  const value = parameters.get(name) ?? ""
  const known = value === "" || choices.some((choice) => choice.value === value)
  return (
    <label class={value === "" ? "chip" : "chip on"}>
      {label}
      <select value={value} onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}>
        <option value="">{any}</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
        {!known && <option value={value}>{value}</option>}
      </select>
    </label>
  )
}

/** Milliseconds after the last key. */
const patience = 300

/** Text that filters. It is applied a moment after the last key, and at once with Enter. */
export const TextFilter = ({ name, label }: { readonly name: string; readonly label: string }) => {
  const { parameters, set } = useSearch()
  const applied = parameters.get(name) ?? ""
  const [text, setText] = useState(applied)
  const latest = useRef(set)
  latest.current = set
  useEffect(() => setText(applied), [applied])
  useEffect(() => {
    if (text === applied) return
    const timer = setTimeout(() => latest.current({ [name]: text.trim() }), patience)
    return () => clearTimeout(timer)
  }, [text, applied])
  return (
    <label class="search">
      <Icon name="find" />
      <input
        type="search"
        value={text}
        placeholder={label}
        aria-label={label}
        spellcheck={false}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={({ key }) => {
          if (key === "Enter") set({ [name]: text.trim() })
        }}
      />
    </label>
  )
}

/** Filters in force, each with a way to remove it: below an empty list, and after a 400, which may be about any part of the address. */
export const ActiveFilters = ({ names }: { readonly names?: ReadonlyArray<string> }) => {
  const { parameters, href } = useSearch()
  const shown = names ?? [...new Set(parameters.keys())]
  return (
    <div class="flt">
      {shown
        .filter((name) => parameters.has(name))
        .map((name) => (
          <a key={name} class="chip on" href={href({ [name]: undefined })}>
            {name}{" "}
            <b>
              <bdi>{parameters.get(name)}</bdi>
            </b>{" "}
            <span aria-hidden="true">×</span>
            <span class="sr">{words.filters.remove}</span>
          </a>
        ))}
    </div>
  )
}
