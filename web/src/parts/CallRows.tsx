// The calls of one transaction in a form: a row for each, with receiver, amount and data, and what they send together.
import type { ComponentChildren } from "preact"
import { grouped, parse, shown as amountText } from "../data/Amounts.ts"
import type { Unit } from "../data/Amounts.ts"
import { batchSize, callParts, noCall, rowsOf, sumOf, textOfRows } from "../data/Calls.ts"
import type { CallRow } from "../data/Calls.ts"
import { decimalsOf } from "../data/FormFields.ts"
import { words } from "../words.ts"
import { Units, idOf } from "./FieldUnits.tsx"
import type { InputProps } from "./FieldUnits.tsx"
import { ProblemText } from "./Problem.tsx"

const text = words.calls

interface PartProps {
  /** The id of the input. */
  readonly id: string
  readonly name: (typeof callParts)[number]
  readonly value: string
  readonly problem: string | undefined
  readonly set: (value: string) => void
  readonly children?: ComponentChildren
}

const Part = ({ id, name, value, problem, set, children }: PartProps) => (
  <div class={problem === undefined ? `call-${name}` : `call-${name} wrong`}>
    <label for={id}>
      <code>{name}</code>
      {name === "to" && <span class="mut"> {words.form.required}</span>}
    </label>
    <input
      id={id}
      value={value}
      type="text"
      inputMode={name === "value" ? "decimal" : "text"}
      spellcheck={false}
      autocomplete="off"
      aria-invalid={problem !== undefined}
      aria-describedby={problem === undefined ? undefined : `${id}-problem`}
      onInput={({ currentTarget }) => set(currentTarget.value)}
    />
    {children}
    {problem !== undefined && <ProblemText id={`${id}-problem`} problem={problem} />}
  </div>
)

/** The exact integer below the amount, so that a wrong unit is seen. */
const ExactValue = ({
  value,
  decimals,
  unit
}: {
  readonly value: string
  readonly decimals: number
  readonly unit: Unit
}) => {
  const parsed = parse(value, decimals)
  if (!parsed.ok) return null
  return (
    <p class="hint">
      = {grouped(parsed.value)} {unit.smallest}
    </p>
  )
}

/** Two rows at first: a single call has no need of the list. */
const added = (rows: ReadonlyArray<CallRow>): ReadonlyArray<CallRow> => [
  ...rows,
  ...Array.from({ length: Math.max(1, batchSize.minimum - rows.length) }, () => noCall)
]

export const CallRows = (props: InputProps) => {
  const { field, entered, native, parts, problem, set } = props
  const rows = rowsOf(entered[field.name] ?? "")
  const decimals = decimalsOf(field, entered, native)
  const change = (next: ReadonlyArray<CallRow>) => set(field.name, textOfRows(next))
  const sum = sumOf(rows, decimals)
  return (
    <div
      class="calls"
      id={idOf(field.name)}
      role="group"
      aria-label={field.name}
      aria-describedby={`${idOf(field.name)}-hint`}
      tabIndex={-1}
      data-wrong={problem !== undefined}
    >
      {rows.map((row, index) => (
        <fieldset key={index} class="call">
          <legend>{text.call(index + 1)}</legend>
          {callParts.map((name) => (
            <Part
              key={name}
              id={`${idOf(field.name)}-${index}-${name}`}
              name={name}
              value={row[name]}
              problem={parts[`${index}.${name}`]}
              set={(value) => change(rows.map((other, at) => (at === index ? { ...other, [name]: value } : other)))}
            >
              {name === "value" && <ExactValue value={row.value} decimals={decimals} unit={native} />}
            </Part>
          ))}
          <button
            class="btn s"
            type="button"
            aria-label={text.removeCall(index + 1)}
            onClick={() => change(rows.filter((_, at) => at !== index))}
          >
            {text.remove}
          </button>
        </fieldset>
      ))}
      <div class="do">
        <button
          class="btn s"
          type="button"
          aria-disabled={rows.length >= batchSize.maximum}
          onClick={() => {
            if (rows.length < batchSize.maximum) change(added(rows))
          }}
        >
          {rows.length === 0 ? text.addFirst : text.add}
        </button>
        {rows.length > 0 && <Units {...props} />}
        {rows.length > 0 && <span class="mut">{text.together(rows.length, amountText(sum, native))}</span>}
      </div>
    </div>
  )
}
