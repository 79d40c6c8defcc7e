// A sentence of the service or of the contract, which marks names of fields, values and requests by backticks. Its amounts are written in
// the unit that people use, with the exact integer in the tooltip.
import { amountsIn } from "../data/Amounts.ts"
import type { Unit } from "../data/Amounts.ts"
import { Amount } from "./Amount.tsx"

interface Props {
  readonly text: string
  /** Of the network that the sentence is about. */
  readonly unit?: Unit | undefined
}

const Plain = ({ text, unit }: Props) =>
  amountsIn(text, unit).map((part, index) =>
    typeof part === "string" ? part : <Amount key={index} value={part.value} unit={part.unit} />
  )

export const Marked = ({ text, unit }: Props) =>
  text
    .split("`")
    .map((part, index) =>
      index % 2 === 0 ? <Plain key={index} text={part} unit={unit} /> : <code key={index}>{part}</code>
    )
