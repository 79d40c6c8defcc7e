// Relayers in a table: all of them with their health, or those of a signer.
import type { DateTime } from "effect"
import type { Unit } from "../data/Amounts.ts"
import { grouped } from "../data/Amounts.ts"
import { words } from "../words.ts"
import { Amount } from "./Amount.tsx"
import { Code } from "./Copy.tsx"
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"
import { relayerMark } from "./States.ts"
import { Tag } from "./Tag.tsx"
import { Age } from "./Time.tsx"

interface Health {
  readonly state: string
  readonly code?: string
  readonly balance?: bigint
  readonly open: number
  readonly oldest_open_at?: DateTime.Utc
  readonly last_confirmed_at?: DateTime.Utc
}

interface Row {
  readonly id: string
  readonly name: string
  readonly network: string
  readonly network_type: string
  readonly address: string
  readonly signer_id: string
  readonly paused: boolean
  readonly system_disabled: boolean
  readonly health?: Health
}

const text = words.relayers

const relayerHref = (id: string): string => `/console/relayers/${encodeURIComponent(id)}`

const names: Column<Row> = {
  head: text.name,
  card: "title",
  cell: ({ id, name }) => (
    <a href={relayerHref(id)} class="two">
      <bdi>{name}</bdi>
      <small>{id}</small>
    </a>
  )
}

const states: Column<Row> = { head: text.state, card: "state", cell: (relayer) => <Tag {...relayerMark(relayer)} /> }

const networks: Column<Row> = { head: text.network, cell: ({ network_type, network }) => `${network_type}:${network}` }

const addresses: Column<Row> = {
  head: text.address,
  card: "hidden",
  cell: ({ address }) => <Code text={address} />
}

const plain: ReadonlyArray<Column<Row>> = [
  names,
  states,
  networks,
  { head: text.type, card: "hidden", cell: ({ network_type }) => network_type },
  addresses,
  { head: text.signer, card: "hidden", cell: ({ signer_id }) => signer_id }
]

const ageOf = (at: DateTime.Utc | undefined) => (at === undefined ? "–" : <Age at={at} />)

const OpenCount = ({ id, open }: { readonly id: string; readonly open: number }) =>
  open === 0 ? <>0</> : <a href={`${relayerHref(id)}/transactions`}>{grouped(open)}</a>

const withHealth = (unitOf: (row: Row) => Unit): ReadonlyArray<Column<Row>> => [
  names,
  states,
  { head: text.code, cell: ({ health }) => (health?.code === undefined ? null : <code>{health.code}</code>) },
  networks,
  addresses,
  {
    head: text.balance,
    isNumber: true,
    cell: (row) => (row.health?.balance === undefined ? "–" : <Amount value={row.health.balance} unit={unitOf(row)} />)
  },
  { head: text.openShort, isNumber: true, cell: ({ id, health }) => <OpenCount id={id} open={health?.open ?? 0} /> },
  { head: text.oldestOpen, isNumber: true, card: "hidden", cell: ({ health }) => ageOf(health?.oldest_open_at) },
  { head: text.lastConfirmed, isNumber: true, card: "hidden", cell: ({ health }) => ageOf(health?.last_confirmed_at) }
]

interface Props {
  readonly label: string
  readonly rows: ReadonlyArray<Row>
  /** The unit of a relayer's balance. Without it, health is not shown. */
  readonly unitOf?: (row: Row) => Unit
}

export const RelayerRows = ({ label, rows, unitOf }: Props) => (
  <List label={label} columns={unitOf === undefined ? plain : withHealth(unitOf)} rows={rows} keyOf={({ id }) => id} />
)
