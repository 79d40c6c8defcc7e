// The inputs of a form's fields: text, an amount with its unit, a choice, check boxes.
import { fieldOfMoment } from "../data/FormFields.ts"
import type { FormField } from "../data/FormFields.ts"
import { grantText } from "../data/Keys.ts"
import { makeSigningKey } from "../data/SigningKey.ts"
import { words } from "../words.ts"
import { CallRows } from "./CallRows.tsx"
import { CopyButton } from "./Copy.tsx"
import { Units, idOf } from "./FieldUnits.tsx"
import type { InputProps } from "./FieldUnits.tsx"

const text = words.form

/** What stands for no value: nothing that exists is chosen by default. */
const emptyOf = ({ name, isRequired }: FormField, known: InputProps["known"]): string => {
  if (isRequired === true) return text.choose
  return known?.[name] === undefined ? text.byDefault : text.none
}

const Choice = ({ options, props }: { readonly options: ReadonlyArray<string>; readonly props: InputProps }) => {
  const { field, entered, set } = props
  const value = entered[field.name] ?? ""
  return (
    <select
      id={idOf(field.name)}
      value={value}
      aria-describedby={`${idOf(field.name)}-hint`}
      onChange={({ currentTarget }) => set(field.name, currentTarget.value)}
    >
      <option value="">{emptyOf(field, props.known)}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {field.kind === "boolean" ? (option === "true" ? text.yes : text.no) : option}
        </option>
      ))}
    </select>
  )
}

/** Check boxes. The entered text has one choice per line. */
const Choices = ({ field, entered, set }: InputProps) => {
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

/** Makes a key that the receiver has to know, too: it can be copied until the form is sent. */
const SigningKeyButtons = ({ field, entered, set }: InputProps) => {
  const key = entered[field.name] ?? ""
  return (
    <>
      <button class="btn s" type="button" onClick={() => set(field.name, makeSigningKey())}>
        {words.webhooks.generate}
      </button>
      {key !== "" && <CopyButton text={key} label={words.copy.copy} />}
    </>
  )
}

const multiline: ReadonlySet<string> = new Set(["lines", "urls", "json", "authorizations"])

export const Input = (props: InputProps) => {
  const { field, entered, known, set, problem, parts } = props
  const shared = {
    id: idOf(field.name),
    value: entered[field.name] ?? "",
    spellcheck: false,
    autocomplete: "off" as const,
    "aria-invalid": problem !== undefined || Object.keys(parts).length > 0,
    "aria-describedby": `${idOf(field.name)}-hint`
  }
  if (field.kind === "choices") return <Choices {...props} />
  if (field.kind === "calls") return <CallRows {...props} />
  const existing = known?.[field.name]
  if (field.kind === "lines" && existing !== undefined) {
    return <Choices {...props} field={{ ...field, choices: existing }} />
  }
  const options = known?.[field.name] ?? field.choices ?? (field.kind === "boolean" ? ["true", "false"] : undefined)
  if (options !== undefined) return <Choice options={options} props={props} />
  if (multiline.has(field.kind)) {
    return <textarea {...shared} rows={3} onInput={({ currentTarget }) => set(field.name, currentTarget.value)} />
  }
  if (field.kind === "moment") {
    return (
      <input
        {...shared}
        type="datetime-local"
        step="1"
        value={fieldOfMoment(shared.value)}
        onInput={({ currentTarget }) => set(field.name, currentTarget.value)}
      />
    )
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
      {field.name === "signing_key" && <SigningKeyButtons {...props} />}
    </span>
  )
}
