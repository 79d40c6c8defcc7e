// The calls of one transaction: what they send together, and the amount, the receiver and the data of each.
import type { Unit } from "../data/Amounts.ts"
import type { Move } from "../data/Moves.ts"
import { words } from "../words.ts"
import { Amount } from "./Amount.tsx"
import { Code } from "./Copy.tsx"

const text = words.calls

type ShownCall = Pick<Move, "amount" | "to" | "data">

interface Props {
  readonly calls: ReadonlyArray<ShownCall>
  readonly unit: Unit
  /** Before a send, no digit and no byte is left out: the data of a transfer of tokens has the receiver in its middle. */
  readonly isWhole?: boolean
}

export const CallList = ({ calls, unit, isWhole = false }: Props) => (
  <>
    {text.count(calls.length)} · {text.sum}{" "}
    <Amount value={calls.reduce((sum, { amount = 0n }) => sum + amount, 0n)} unit={unit} isExact={isWhole} />
    <ol class="entries">
      {calls.map(({ amount = 0n, to = "", data }, index) => (
        <li key={index}>
          <Amount value={amount} unit={unit} isExact={isWhole} /> → <Code text={to} full />
          {data !== undefined && data !== "0x" && (
            <>
              {" "}
              <span class="mut">{text.data}</span> {isWhole ? <bdi class="wrap">{data}</bdi> : <Code text={data} />}
            </>
          )}
        </li>
      ))}
    </ol>
    <span class="mut">{text.all}</span>
  </>
)
