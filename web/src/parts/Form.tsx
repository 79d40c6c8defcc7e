// A form of the fields that the build derives from a schema. Each problem is at its field.
import { useEffect, useRef } from "preact/hooks"
import { exact, grouped, parse } from "../data/Amounts.ts"
import { decimalsOf, hintOf, limitsPrefix, nativeOf, withText } from "../data/FormFields.ts"
import type { Entered, Form, Problem, Problems } from "../data/FormFields.ts"
import { words } from "../words.ts"
import { Input, idOf } from "./FormInputs.tsx"
import type { InputProps } from "./FormInputs.tsx"
import { Marked } from "./Marked.tsx"

const text = words.form

interface Props extends Pick<InputProps, "entered" | "native" | "known" | "makers"> {
  readonly form: Form
  readonly problems: Problems
  readonly onChange: (entered: Entered) => void
}

const isProblem = (problem: string): problem is Problem => problem in text.problems

const problemText = (problem: Problem | string) => (isProblem(problem) ? text.problems[problem] : problem)

/** The exact integer below the field, so that a wrong unit is seen. */
const ExactValue = ({ field, entered, native }: InputProps) => {
  const parsed = parse(entered[field.name] ?? "", decimalsOf(field, entered, native))
  if (!parsed.ok || field.unit === undefined) return null
  return (
    <p class="hint">
      = {grouped(parsed.value)} {field.unit === "price" ? "wei" : native.smallest}
    </p>
  )
}

/** Below a field whose values are chosen from what exists. */
const MakerLink = ({ field, known, makers }: InputProps) => {
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

/** The example of an amount is in the unit in which it is entered. */
const exampleOf = ({ field, entered, native }: InputProps) => {
  if (field.example === undefined || field.unit === undefined || !/^\d+$/.test(field.example)) return field.example
  return exact(BigInt(field.example), decimalsOf(field, entered, native))
}

const Field = (props: InputProps) => {
  const { field, known, problem } = props
  /** What exists is chosen by check boxes. */
  const isChosen = field.kind === "choices" || (field.kind === "lines" && known?.[field.name] !== undefined)
  const example = isChosen ? undefined : exampleOf(props)
  return (
    <div class={problem === undefined ? "field" : "field wrong"}>
      <label for={isChosen ? undefined : idOf(field.name)}>
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
        <Marked text={hintOf(field, props.native)} /> {isChosen ? "" : text.kinds[field.kind]}
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
  const shown = form.filter(({ fixed }) => fixed === undefined)
  const limits = shown.filter(({ name }) => name.startsWith(limitsPrefix))
  // They stay open, so that a field whose text is removed stays, too.
  const isOpen = useRef(false)
  isOpen.current ||= limits.some(({ name }) => problems[name] !== undefined || (entered[name] ?? "") !== "")
  const fieldsOf = (fields: Form) =>
    fields.map((field) => (
      <Field
        key={field.name}
        {...rest}
        field={field}
        problem={problems[field.name]}
        entered={entered}
        set={set}
        native={nativeOf(field, rest.native)}
      />
    ))
  return (
    <div class="form" ref={element}>
      <Others form={form} problems={problems} />
      {fieldsOf(shown.filter((field) => !limits.includes(field)))}
      {limits.length > 0 && (
        <details open={isOpen.current}>
          <summary>{text.limits}</summary>
          <div class="form">{fieldsOf(limits)}</div>
        </details>
      )}
    </div>
  )
}
