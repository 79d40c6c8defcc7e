// The receivers of webhooks, and the deliveries to one of them with what it answered.
import { useRoute } from "preact-iso"
import { may, sessionState } from "../data/Session.ts"
import { webhookById, webhookList } from "../data/Webhooks.ts"
import type { Notification } from "../data/Webhooks.ts"
import { words } from "../words.ts"
import { Block, Loaded } from "../parts/Block.tsx"
import { Created } from "../parts/Created.tsx"
import { Empty, List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Say } from "../parts/Say.tsx"
import { markOf } from "../parts/States.ts"
import { Tag } from "../parts/Tag.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { WebhookActions } from "./webhooks/Actions.tsx"
import { Deliveries } from "./webhooks/Deliveries.tsx"
import { WebhookHealth, WebhookStatistics } from "./webhooks/Statistics.tsx"

const text = words.webhooks

/** Each receiver of the list costs a request, so that a longer list does not show how they do. */
const mostAsked = 20

const health: Column<Notification> = { head: text.lastHour, cell: ({ id }) => <WebhookHealth id={id} /> }

const columns: ReadonlyArray<Column<Notification>> = [
  {
    head: text.id,
    card: "title",
    cell: ({ id }) => <a href={`/console/webhooks/${encodeURIComponent(id)}`}>{id}</a>
  },
  {
    head: text.state,
    card: "state",
    cell: ({ paused }) => <Tag {...markOf(paused ? "paused" : "enabled")} />
  },
  { head: text.url, cell: ({ url }) => <bdi class="wrap">{url}</bdi> },
  { head: text.signed, card: "hidden", cell: ({ has_signing_key }) => (has_signing_key ? text.yes : text.no) }
]

export const WebhooksPage = () => {
  const session = useAtom(sessionState)
  const query = useQuery(webhookList)
  return (
    <Page
      title={text.title}
      actions={
        may(session, "notifications:write") && (
          <a class="btn p" href="/console/new/webhook">
            {words.create.webhook}
          </a>
        )
      }
    >
      <Block title={text.title} query={query} rows={4}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Empty text={text.none} />
          ) : (
            <List
              label={text.title}
              columns={webhooks.length > mostAsked ? columns : [...columns, health]}
              rows={webhooks}
              keyOf={({ id }) => id}
            />
          )
        }
      </Block>
    </Page>
  )
}

export const WebhookPage = () => {
  const { params } = useRoute()
  const session = useAtom(sessionState)
  const id = params["id"] ?? ""
  const query = useQuery(webhookById(id))
  return (
    <Page
      title={id}
      heading={
        query.value && (
          <>
            <bdi>{id}</bdi> <Tag {...markOf(query.value.value.paused ? "paused" : "enabled")} />
          </>
        )
      }
      crumbs={[{ href: "/console/webhooks", label: text.title }]}
      sub={query.value === undefined ? undefined : <bdi class="wrap">{query.value.value.url}</bdi>}
      actions={
        query.value !== undefined &&
        may(session, "notifications:write") && <WebhookActions id={id} details={query.value} />
      }
    >
      <Loaded query={query} rows={6}>
        {({ value: { has_signing_key } }) => (
          <div class="grid">
            <Created next={words.create.nextOfWebhook} />
            {!has_signing_key && <Say mark={markOf("degraded")} reason={text.unsigned} next={text.unsignedNext} />}
            <WebhookStatistics id={id} />
            <Deliveries id={id} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}
