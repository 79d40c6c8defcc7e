// A form of the fields that the build derives from a schema. Each problem is at its field.
import { useEffect, useRef } from "preact/hooks"
import { exact, grouped, parse } from "../data/Amounts.ts"
import { decimalsOf, hintOf, isIn, limitsPrefix, nativeOf, partsOf, withText } from "../data/FormFields.ts"
import type { Entered, Form, Problems } from "../data/FormFields.ts"
import { isPartOfRow, rowsOf } from "../data/Calls.ts"
import { words } from "../words.ts"
import { idOf } from "./FieldUnits.tsx"
import type { InputProps } from "./FieldUnits.tsx"
import { Input } from "./FormInputs.tsx"
import { Marked } from "./Marked.tsx"
import { ProblemText, problemText } from "./Problem.tsx"
import { ReadAuthorizations } from "./Authorizations.tsx"

const text = words.form

interface Props extends Pick<InputProps, "entered" | "native" | "known" | "makers"> {
  readonly form: Form
  readonly problems: Problems
  readonly onChange: (entered: Entered) => void
}

/** The exact integer below the field, so that a wrong unit is seen. */
const ExactValue = ({ field, entered, native }: InputProps) => {
  const parsed = parse(entered[field.name] ?? "", decimalsOf(field, entered, native))
  // Calls have theirs in each row.
  if (!parsed.ok || field.unit === undefined || field.kind === "calls") return null
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
  // Calls have their rows, and what a wallet prints is pasted.
  if (field.kind === "calls" || field.kind === "authorizations") return undefined
  if (field.example === undefined || field.unit === undefined || !/^\d+$/.test(field.example)) return field.example
  return exact(BigInt(field.example), decimalsOf(field, entered, native))
}

/** A row of calls shows the problems of its own inputs. */
const isInRow = ({ field, entered }: InputProps, part: string): boolean =>
  field.kind === "calls" && isPartOfRow(rowsOf(entered[field.name] ?? ""), part)

/** Problems of parts that have no input of their own, each with its place: `0.r`. */
const Parts = (props: InputProps) => {
  const others = Object.entries(props.parts).filter(([part]) => !isInRow(props, part))
  if (others.length === 0) return null
  return (
    <ul class="problems" role="alert">
      {others.map(([part, problem]) => (
        <li key={part}>
          <code>{`${props.field.name}.${part}`}</code>: <bdi>{problemText(problem)}</bdi>
        </li>
      ))}
    </ul>
  )
}

const isWrong = (props: InputProps): boolean =>
  props.problem !== undefined || Object.keys(props.parts).some((part) => !isInRow(props, part))

const Field = (props: InputProps) => {
  const { field, known, problem } = props
  /** What exists is chosen by check boxes. */
  const isChosen = field.kind === "choices" || (field.kind === "lines" && known?.[field.name] !== undefined)
  const isGroup = isChosen || field.kind === "calls"
  const example = isChosen ? undefined : exampleOf(props)
  return (
    <div class={isWrong(props) ? "field wrong" : "field"}>
      <label for={isGroup ? undefined : idOf(field.name)}>
        <code>{field.name}</code>
        {field.isRequired === true && <span class="mut"> {text.required}</span>}
      </label>
      <Input {...props} />
      <ExactValue {...props} />
      <MakerLink {...props} />
      {field.kind === "authorizations" && <ReadAuthorizations entered={props.entered[field.name] ?? ""} />}
      {problem !== undefined && <ProblemText problem={problem} />}
      <Parts {...props} />
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
  const shown = form.filter(({ fixed }) => fixed === undefined)
  const others = Object.entries(problems).filter(([path]) => !shown.some(({ name }) => isIn(name, path)))
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
    element.current?.querySelector<HTMLElement>("[aria-invalid=true], [data-wrong=true]")?.focus()
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
        parts={partsOf(form, field, problems)}
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
