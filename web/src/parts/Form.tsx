// A form of the fields that the build derives from a schema. Each problem is at its field.
import { useEffect, useRef } from "preact/hooks"
import type { Unit } from "../data/Amounts.ts"
import { exact, grouped, parse } from "../data/Amounts.ts"
import { decimalsOf, unitKey, withText } from "../data/FormFields.ts"
import type { Change, Entered, Form, FormField, Problem, Problems } from "../data/FormFields.ts"
import { grantText } from "../data/Keys.ts"
import { words } from "../words.ts"

const text = words.form

interface Props {
  readonly form: Form
  readonly entered: Entered
  readonly native: Unit
  readonly problems: Problems
  readonly onChange: (entered: Entered) => void
  /** Values to choose from instead of typing, such as the networks that exist. */
  readonly known?: Readonly<Record<string, ReadonlyArray<string>>>
  /** Pages that create a value which is not there to choose. */
  readonly makers?: Readonly<Record<string, Maker>>
}

interface Maker {
  readonly href: string
  readonly label: string
}

interface FieldProps extends Omit<Props, "form" | "problems" | "onChange"> {
  readonly field: FormField
  readonly problem: Problem | string | undefined
  readonly set: (name: string, value: string) => void
}

const idOf = (name: string) => `field-${name}`

const isProblem = (problem: string): problem is Problem => problem in text.problems

const problemText = (problem: Problem | string) => (isProblem(problem) ? text.problems[problem] : problem)

const unitsOf = (field: FormField, native: Unit): ReadonlyArray<readonly [decimals: number, symbol: string]> => {
  if (field.unit === undefined) return []
  if (native.decimals === 18 || field.unit === "price") {
    const whole = field.unit === "native" ? [[native.decimals, native.symbol] as const] : []
    return [...whole, [9, "gwei"], [0, "wei"]]
  }
  return native.decimals === 0
    ? []
    : [
        [native.decimals, native.symbol],
        [0, native.smallest]
      ]
}

/** The exact integer below the field, so that a wrong unit is seen. */
const ExactValue = ({ field, entered, native }: FieldProps) => {
  const parsed = parse(entered[field.name] ?? "", decimalsOf(field, entered, native))
  if (!parsed.ok || field.unit === undefined) return null
  return (
    <p class="hint">
      = {grouped(parsed.value)} {field.unit === "price" ? "wei" : native.smallest}
    </p>
  )
}

const Units = ({ field, entered, native, set }: FieldProps) => {
  const units = unitsOf(field, native)
  if (units.length === 0) return null
  return (
    <select
      aria-label={text.unit}
      value={String(decimalsOf(field, entered, native))}
      onChange={({ currentTarget }) => set(unitKey(field.name), currentTarget.value)}
    >
      {units.map(([decimals, symbol]) => (
        <option key={symbol} value={String(decimals)}>
          {symbol}
        </option>
      ))}
    </select>
  )
}

const Choice = ({ options, props }: { readonly options: ReadonlyArray<string>; readonly props: FieldProps }) => {
  const { field, entered, set } = props
  const value = entered[field.name] ?? ""
  return (
    <select
      id={idOf(field.name)}
      value={value}
      aria-describedby={`${idOf(field.name)}-hint`}
      onChange={({ currentTarget }) => set(field.name, currentTarget.value)}
    >
      <option value="">{field.isRequired === true ? text.choose : text.byDefault}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {field.kind === "boolean" ? (option === "true" ? text.yes : text.no) : option}
        </option>
      ))}
    </select>
  )
}

/** Check boxes. The entered text has one choice per line. */
const Choices = ({ field, entered, set }: FieldProps) => {
  const chosen = new Set((entered[field.name] ?? "").split("\n").filter((line) => line !== ""))
  const toggle = (choice: string) => {
    const next = chosen.has(choice) ? [...chosen].filter((other) => other !== choice) : [...chosen, choice]
    set(field.name, next.join("\n"))
  }
  return (
    <div
      class={
        field.choices?.some((choice) => grantText(choice) !== undefined) === true ? "choices explained" : "choices"
      }
      id={idOf(field.name)}
      role="group"
      aria-label={field.name}
      tabIndex={-1}
    >
      {field.choices?.map((choice) => (
        <label key={choice}>
          <input type="checkbox" checked={chosen.has(choice)} onChange={() => toggle(choice)} />
          <span>
            <code>{choice}</code> <span class="mut">{grantText(choice)}</span>
          </span>
        </label>
      ))}
    </div>
  )
}

/** Below a field whose values are chosen from what exists. */
const MakerLink = ({ field, known, makers }: FieldProps) => {
  const maker = makers?.[field.name]
  const options = known?.[field.name]
  if (maker === undefined || options === undefined) return null
  return (
    <p class="hint">
      {options.length === 0 ? words.create.noneYet : words.create.notListed}{" "}
      <a class="l" href={maker.href}>
        {maker.label}
      </a>
    </p>
  )
}

const multiline: ReadonlySet<string> = new Set(["lines", "urls", "json"])

const Input = (props: FieldProps) => {
  const { field, entered, known, set, problem } = props
  const shared = {
    id: idOf(field.name),
    value: entered[field.name] ?? "",
    spellcheck: false,
    autocomplete: "off" as const,
    "aria-invalid": problem !== undefined,
    "aria-describedby": `${idOf(field.name)}-hint`
  }
  if (field.kind === "choices") return <Choices {...props} />
  const options = known?.[field.name] ?? field.choices ?? (field.kind === "boolean" ? ["true", "false"] : undefined)
  if (options !== undefined) return <Choice options={options} props={props} />
  if (multiline.has(field.kind)) {
    return <textarea {...shared} rows={3} onInput={({ currentTarget }) => set(field.name, currentTarget.value)} />
  }
  return (
    <span class="amount-input">
      {field.kind === "secret" ? (
        <input {...shared} type="password" onInput={({ currentTarget }) => set(field.name, currentTarget.value)} />
      ) : (
        <input
          {...shared}
          type="text"
          inputMode={field.kind === "amount" || field.kind === "integer" ? "decimal" : "text"}
          onInput={({ currentTarget }) => set(field.name, currentTarget.value)}
        />
      )}
      <Units {...props} />
    </span>
  )
}

/** Hints are those of the contract, which marks names of values by backticks. */
const Hint = ({ text }: { readonly text: string }) =>
  text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={part}>{part}</code>))

/** The example of an amount is in the unit in which it is entered. */
const exampleOf = ({ field, entered, native }: FieldProps) => {
  if (field.example === undefined || field.unit === undefined || !/^\d+$/.test(field.example)) return field.example
  return exact(BigInt(field.example), decimalsOf(field, entered, native))
}

const Field = (props: FieldProps) => {
  const { field, problem } = props
  const example = exampleOf(props)
  return (
    <div class={problem === undefined ? "field" : "field wrong"}>
      <label for={field.kind === "choices" ? undefined : idOf(field.name)}>
        <code>{field.name}</code>
        {field.isRequired === true && <span class="mut"> {text.required}</span>}
      </label>
      <Input {...props} />
      <ExactValue {...props} />
      <MakerLink {...props} />
      {problem !== undefined && (
        <p class="problem" role="alert">
          <bdi>{problemText(problem)}</bdi>
        </p>
      )}
      <p class="hint" id={`${idOf(field.name)}-hint`}>
        <Hint text={field.hint} /> {text.kinds[field.kind]}
        {example !== undefined && (
          <>
            {" "}
            {text.example} <code>{example}</code>
          </>
        )}
      </p>
    </div>
  )
}

/** Problems of fields that the form does not show, such as that of a whole body. */
const Others = ({ form, problems }: Pick<Props, "form" | "problems">) => {
  const shown = new Set(form.filter(({ fixed }) => fixed === undefined).map(({ name }) => name))
  const others = Object.entries(problems).filter(([name]) => !shown.has(name))
  if (others.length === 0) return null
  return (
    <ul class="problems" role="alert">
      {others.map(([name, problem]) => (
        <li key={name}>
          <code>{name}</code>: <bdi>{problemText(problem)}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** Focus goes to the first field with a problem. */
export const SchemaForm = ({ form, problems, entered, onChange, ...rest }: Props) => {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus()
  }, [problems])
  const set = (name: string, value: string) => onChange(withText(form, entered, name, value, rest.native))
  return (
    <div class="form" ref={element}>
      <Others form={form} problems={problems} />
      {form
        .filter(({ fixed }) => fixed === undefined)
        .map((field) => (
          <Field key={field.name} field={field} problem={problems[field.name]} entered={entered} set={set} {...rest} />
        ))}
    </div>
  )
}

/** Only what changes, old and new. */
export const Diff = ({ changes }: { readonly changes: ReadonlyArray<Change> }) => (
  <div class="tblw">
    <table class="tbl diff">
      <thead>
        <tr>
          <th scope="col">{text.field}</th>
          <th scope="col">{text.before}</th>
          <th scope="col">{text.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ name, before, after }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <del>{before === "" ? text.byDefault : before}</del>
            </td>
            <td>
              <ins>{after === "" ? text.byDefault : after}</ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
