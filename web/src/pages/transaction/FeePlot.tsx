// The fees that a transaction of evm has offered, block by block, next to the base fee.
import { gwei } from "../../data/Amounts.ts"
import { feePlotOf } from "../../data/FeePlot.ts"
import type { FeePlot as Plotted } from "../../data/FeePlot.ts"
import { isOpen, transactionFees } from "../../data/Transactions.ts"
import type { Transaction } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { Empty } from "../../parts/List.tsx"
import { Plot } from "../../parts/Plot.tsx"
import type { Line } from "../../parts/Plot.tsx"
import { useChange, useQuery } from "../../parts/useAtom.ts"

const text = words.fees

/** Milliseconds between two requests while the transaction is open: about a block of ethereum. */
const refreshed = 12_000

const linesOf = ({ baseFees, offers, cap, paid }: Plotted): ReadonlyArray<Line> => [
  { label: text.base, shape: "area", color: "p3", values: baseFees },
  { label: text.offered, shape: "steps", color: "p1", values: offers },
  ...(cap === undefined ? [] : [{ label: text.cap, shape: "limit", color: "p2", values: cap } as const]),
  ...(paid === undefined ? [] : [{ label: text.paid, shape: "point", color: "ok", values: paid } as const])
]

interface Props {
  /** The key of the transaction's queries. */
  readonly id: string
  readonly transaction: Extract<Transaction, { readonly value: bigint }>
}

export const FeePlot = ({ id, transaction }: Props) => {
  const fees = useQuery(transactionFees(id), isOpen(transaction) ? refreshed : undefined)
  useChange(`${transaction.status} ${transaction.attempts?.length}`, fees.refresh)
  return (
    <Block title={text.title} query={fees} rows={6}>
      {(fees) => {
        const plot = feePlotOf(transaction, fees)
        return plot === undefined ? (
          <Empty text={text.few} />
        ) : (
          <Plot label={text.title} axis="block" positions={plot.blocks} unit={gwei} lines={linesOf(plot)} />
        )
      }}
    </Block>
  )
}
