// Transactions in a table: of all relayers, of one, or the open ones of one.
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"
import { words } from "../words.ts"
import { Code, shortened } from "./Copy.tsx"
import { markOf } from "./States.ts"
import { Tag } from "./Tag.tsx"
import { Age } from "./Time.tsx"
import type { DateTime } from "effect"

interface Row {
  readonly id: string
  readonly relayer_id: string
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

const transactionHref = ({ relayer_id, id }: Pick<Row, "relayer_id" | "id">): string =>
  `/console/transactions/${encodeURIComponent(id)}?relayer=${encodeURIComponent(relayer_id)}`

const hashOf = ({ hash, signature }: Row) => hash ?? (typeof signature === "string" ? signature : undefined)

const numberOf = ({ nonce, sequence_number }: Row) => nonce ?? sequence_number

/** Rows of one relayer are of one network. */
const numberHead = (rows: ReadonlyArray<Row>): string => {
  if (rows.every(({ sequence_number }) => sequence_number === undefined)) return text.nonce
  return rows.every(({ nonce }) => nonce === undefined) ? text.sequence : text.place
}

const columnsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Column<Row>> => [
  { head: text.state, card: "state", cell: ({ status }) => <Tag {...markOf(status)} /> },
  {
    head: text.one,
    card: "title",
    cell: (row) => (
      <a href={transactionHref(row)} class="two" title={row.id}>
        {row.external_id === undefined ? <code>{shortened(row.id)}</code> : <bdi>{row.external_id}</bdi>}
        {row.external_id !== undefined && <small>{shortened(row.id)}</small>}
      </a>
    )
  },
  {
    head: text.relayer,
    cell: ({ relayer_id }) => <a href={`/console/relayers/${encodeURIComponent(relayer_id)}`}>{relayer_id}</a>
  },
  { head: text.code, card: "hidden", cell: ({ code }) => (code === undefined ? "–" : <code>{code}</code>) },
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
  /** Absent on the page of a relayer. */
  readonly hasRelayer?: boolean
}

export const TransactionRows = ({ label, rows, hasRelayer = true }: Props) => (
  <List
    label={label}
    columns={columnsOf(rows).filter(({ head }) => hasRelayer || head !== text.relayer)}
    rows={rows}
    keyOf={({ id }) => id}
  />
)
