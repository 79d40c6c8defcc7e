// Relayers in a table: all of them, or those of a signer.
import { words } from "../words.ts"
import { Code } from "./Copy.tsx"
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"
import { relayerMark } from "./States.ts"
import { Tag } from "./Tag.tsx"

interface Row {
  readonly id: string
  readonly name: string
  readonly network: string
  readonly network_type: string
  readonly address: string
  readonly signer_id: string
  readonly paused: boolean
  readonly system_disabled: boolean
}

const text = words.relayers

const relayerHref = (id: string): string => `/console/relayers/${encodeURIComponent(id)}`

const columns: ReadonlyArray<Column<Row>> = [
  {
    head: text.name,
    card: "title",
    cell: ({ id, name }) => (
      <a href={relayerHref(id)} class="two">
        <bdi>{name}</bdi>
        <small>{id}</small>
      </a>
    )
  },
  { head: text.state, card: "state", cell: (relayer) => <Tag {...relayerMark(relayer)} /> },
  { head: text.network, cell: ({ network }) => network },
  { head: text.type, card: "hidden", cell: ({ network_type }) => network_type },
  { head: text.address, card: "hidden", cell: ({ address }) => <Code text={address} /> },
  { head: text.signer, card: "hidden", cell: ({ signer_id }) => signer_id }
]

interface Props {
  readonly label: string
  readonly rows: ReadonlyArray<Row>
}

export const RelayerRows = ({ label, rows }: Props) => (
  <List label={label} columns={columns} rows={rows} keyOf={({ id }) => id} />
)
