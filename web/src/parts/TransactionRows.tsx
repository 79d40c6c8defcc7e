// Transactions in a table: of all relayers, of one, or the open ones of one.
import { waits } from "../../../src/networks/core/Cause.ts"
import type { Unit } from "../data/Amounts.ts"
import { movesOf } from "../data/Moves.ts"
import { isOpen } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Amount } from "./Amount.tsx"
import { Code } from "./Copy.tsx"
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"
import { markOf } from "./States.ts"
import { Tag } from "./Tag.tsx"
import { Age } from "./Time.tsx"
import type { DateTime } from "effect"

interface Row {
  readonly id: string
  readonly relayer_id: string
  readonly network_type: string
  readonly status: string
  readonly code?: string
  readonly external_id?: string
  readonly created_at: DateTime.Utc
  readonly nonce?: number
  readonly sequence_number?: bigint
  readonly slot?: number
  readonly hash?: string
  readonly signature?: unknown
}

const text = words.transactions

export const transactionHref = ({ relayer_id, id }: Pick<Row, "relayer_id" | "id">): string =>
  `/console/transactions/${encodeURIComponent(id)}?relayer=${encodeURIComponent(relayer_id)}`

const hashOf = ({ hash, signature }: Row) => hash ?? (typeof signature === "string" ? signature : undefined)

const numberOf = ({ nonce, sequence_number }: Row) => nonce ?? sequence_number

/** Rows of one relayer are of one network. */
const numberHead = (rows: ReadonlyArray<Row>): string => {
  if (rows.every(({ sequence_number }) => sequence_number === undefined)) return text.nonce
  return rows.every(({ nonce }) => nonce === undefined) ? text.sequence : text.place
}

/** The network of a row, if the session may see it, and the unit of its amounts. */
export interface RowChain {
  readonly network?: string
  readonly unit: Unit
}

type ChainOf = (row: Row) => RowChain

/** Networks of several types can have the same name. */
const networkOf = (row: Row, chainOf: ChainOf): string => {
  const { network } = chainOf(row)
  return network === undefined ? row.network_type : `${row.network_type}:${network}`
}

/** Of several moves, the first one, and that there are more. */
const moveOf = (row: Row, chainOf: ChainOf) => {
  const [first, second] = movesOf(row.network_type, row, chainOf(row).unit)
  return { ...first, more: second === undefined ? "" : " …" }
}

const Moved = ({ row, chainOf }: { readonly row: Row; readonly chainOf: ChainOf }) => {
  const { amount, unit, more } = moveOf(row, chainOf)
  if (amount === undefined || unit === undefined) return null
  return (
    <>
      <Amount value={amount} unit={unit} />
      {more}
    </>
  )
}

const Receiver = ({ row, chainOf }: { readonly row: Row; readonly chainOf: ChainOf }) => {
  const { to, more } = moveOf(row, chainOf)
  if (to === undefined) return row.network_type === "evm" ? <>{words.transaction.creation}</> : null
  return (
    <>
      <Code text={to} />
      {more}
    </>
  )
}

/** Its code says what an open transaction waits for. */
const stateOf = ({ status, code = "queued" }: Row) =>
  isOpen({ status }) && waits(code) ? markOf("waiting") : markOf(status)

const columnsOf = (rows: ReadonlyArray<Row>, chainOf: ChainOf): ReadonlyArray<Column<Row>> => [
  { head: text.state, card: "state", cell: (row) => <Tag {...stateOf(row)} /> },
  {
    head: text.one,
    card: "title",
    cell: (row) => (
      <span class="two">
        <a href={transactionHref(row)} title={row.id}>
          {row.external_id === undefined ? text.show : <bdi>{row.external_id}</bdi>}
        </a>
        <small>
          <Code text={row.id} />
        </small>
      </span>
    )
  },
  {
    head: text.relayer,
    cell: (row) => (
      <span class="two">
        <a href={`/console/relayers/${encodeURIComponent(row.relayer_id)}`}>{row.relayer_id}</a>
        <small>{networkOf(row, chainOf)}</small>
      </span>
    )
  },
  { head: text.amount, isNumber: true, cell: (row) => <Moved row={row} chainOf={chainOf} /> },
  { head: text.receiver, cell: (row) => <Receiver row={row} chainOf={chainOf} /> },
  { head: text.code, cell: ({ code }) => (code === undefined ? null : <code>{code}</code>) },
  {
    head: text.hash,
    card: "hidden",
    cell: (row) => {
      const hash = hashOf(row)
      return hash === undefined ? "–" : <Code text={hash} />
    }
  },
  { head: numberHead(rows), isNumber: true, card: "hidden", cell: (row) => numberOf(row)?.toString() ?? "–" },
  { head: text.accepted, isNumber: true, cell: ({ created_at }) => <Age at={created_at} /> }
]

interface Props {
  readonly label: string
  readonly rows: ReadonlyArray<Row>
  readonly chainOf: ChainOf
  /** Absent on the page of a relayer. */
  readonly hasRelayer?: boolean
}

export const TransactionRows = ({ label, rows, chainOf, hasRelayer = true }: Props) => (
  <List
    label={label}
    columns={columnsOf(rows, chainOf).filter(({ head }) => hasRelayer || head !== text.relayer)}
    rows={rows}
    keyOf={({ id }) => id}
  />
)
