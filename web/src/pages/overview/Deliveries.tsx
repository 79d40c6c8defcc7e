// How receivers do, on the first page: whether each accepts, and what was delivered in the last hour.
import { webhookList } from "../../data/Webhooks.ts"
import type { Notification } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { List } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { useQuery } from "../../parts/useAtom.ts"
import { WebhookCount, WebhookHealth } from "../webhooks/Statistics.tsx"

const text = words.webhooks

/**
 * Receivers that are asked about, and the milliseconds between two requests for one: two requests a minute beside the others of the
 * page. A receiver that fails for five minutes is also in the list of what needs attention, whichever it is.
 */
const most = 4
const refreshed = 120_000

const columns: ReadonlyArray<Column<Notification>> = [
  {
    head: text.id,
    card: "title",
    cell: ({ id }) => <a href={`/console/webhooks/${encodeURIComponent(id)}`}>{id}</a>
  },
  { head: text.lastHour, card: "state", cell: ({ id }) => <WebhookHealth id={id} every={refreshed} /> },
  { head: text.states.delivered, isNumber: true, cell: ({ id }) => <WebhookCount id={id} of="delivered" /> },
  { head: text.states.failed, isNumber: true, cell: ({ id }) => <WebhookCount id={id} of="failed" /> }
]

export const Deliveries = () => {
  const query = useQuery(webhookList)
  if (query.value?.length === 0) return null
  return (
    <Block
      title={text.deliveries}
      aside={
        <a class="l" href="/console/webhooks">
          {words.relayers.all}
        </a>
      }
      query={query}
    >
      {(webhooks) => (
        <List label={text.deliveries} columns={columns} rows={webhooks.slice(0, most)} keyOf={({ id }) => id} />
      )}
    </Block>
  )
}
