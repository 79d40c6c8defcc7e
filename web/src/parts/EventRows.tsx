// Events in a table, the newest first.
import type { DateTime } from "effect"
import { words } from "../words.ts"
import { List } from "./List.tsx"
import type { Column } from "./List.tsx"
import { ResourceLink } from "./ResourceLink.tsx"
import type { Tone } from "./Tag.tsx"
import { At } from "./Time.tsx"

interface Row {
  readonly id: number
  readonly type: string
  readonly resource_id: string
  readonly at: DateTime.Utc
}

const text = words.events

const toneOf = (type: string): Tone => {
  if (/\.(disabled|failed|reorged|reorged_final|degraded)$/.test(type)) return "bad"
  if (/\.(held|top_up_held|low_balance|delegate_changed|expired|paused)$/.test(type)) return "warn"
  return /\.(confirmed|enabled|recovered|resumed|top_up_sent)$/.test(type) ? "ok" : "info"
}

const columns: ReadonlyArray<Column<Row>> = [
  { head: text.at, card: "line", cell: ({ at }) => <At at={at} /> },
  {
    head: text.type,
    card: "title",
    cell: ({ type }) => (
      <>
        <i class={`dot ${toneOf(type)}`} aria-hidden="true" /> <code>{type}</code>
      </>
    )
  },
  {
    head: text.resource,
    card: "line",
    cell: ({ type, resource_id }) => <ResourceLink type={type} id={resource_id} />
  },
  { head: text.position, isNumber: true, card: "hidden", cell: ({ id }) => id }
]

export const EventRows = ({ label, rows }: { readonly label: string; readonly rows: ReadonlyArray<Row> }) => (
  <List label={label} columns={columns} rows={rows} keyOf={({ id }) => id} />
)
