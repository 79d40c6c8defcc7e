// The first page: what needs attention, the numbers of relayers and transactions, what is open, what was delivered, and what happened last.
import { connection } from "../data/Connection.ts"
import { eventPage } from "../data/Events.ts"
import { may, sessionState } from "../data/Session.ts"
import { attention } from "../data/Attention.ts"
import { above } from "../data/Tail.ts"
import { openStatuses, transactionPage } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { EventRows } from "../parts/EventRows.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Empty } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { At } from "../parts/Time.tsx"
import { TransactionRows } from "../parts/TransactionRows.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { useChains } from "../parts/useChains.ts"
import { useEventsAbout, useTail } from "../parts/useEvents.ts"
import { Deliveries } from "./overview/Deliveries.tsx"
import { FirstSteps } from "./overview/FirstSteps.tsx"
import { AttentionRow } from "./overview/AttentionItems.tsx"
import { RelayerCounts, Statistics } from "./overview/Statistics.tsx"

const text = words.overview

/**
 * Milliseconds between two reads. An open overview may cost the service 0.4 requests a second: what needs attention is urgent, transactions
 * are asked for every 30 seconds (two requests), relayers are counted every two minutes (six requests), up to four receivers are asked about every two minutes, and events come
 * by one stream.
 */
const urgent = 5_000
const refreshed = 30_000

const Nothing = () => {
  const { reachedAt } = useAtom(connection)
  return (
    <div class="empty">
      <p>
        <span class="ok-fg">
          <Icon name="ok" size={17} />
        </span>{" "}
        {text.nothing} {reachedAt !== undefined && <At at={reachedAt} />}
      </p>
    </div>
  )
}

/** In the order of the service. Items of all instances, not only of the one that answers. */
const Attention = () => {
  const query = useQuery(attention, urgent)
  useEventsAbout(({ type }) => type.startsWith("relayer."), query.refresh)
  const count = query.value?.length ?? 0
  return (
    <Block title={text.attention} aside={count > 0 && <span class="n bad">{count}</span>} query={query}>
      {(items) =>
        items.length === 0 ? (
          <Nothing />
        ) : (
          items.map((item) => (
            <AttentionRow key={`${item.kind} ${item.code} ${item.host} ${item.resource?.id}`} item={item} />
          ))
        )
      }
    </Block>
  )
}

const Open = () => {
  const key = new URLSearchParams([["per_page", "20"], ...openStatuses.map((status) => ["status", status])])
  const query = useQuery(transactionPage(key.toString()), refreshed)
  const chainOf = useChains()
  return (
    <Block
      title={words.relayers.open}
      aside={
        <a class="l" href="/console/transactions">
          {words.relayers.all}
        </a>
      }
      query={query}
    >
      {({ rows }) =>
        rows.length === 0 ? (
          <Empty text={words.relayers.noOpen} />
        ) : (
          <TransactionRows label={words.relayers.open} rows={rows} chainOf={chainOf} />
        )
      }
    </Block>
  )
}

/** Events on the first page. */
const latest = 10

const Latest = () => {
  const query = useQuery(eventPage(`before=latest&limit=${latest}`))
  const tail = useTail({ matches: () => true, isPaused: false, isOn: true, refresh: query.refresh })
  return (
    <Block
      title={text.events}
      aside={
        <a class="l" href="/console/events">
          {words.events.follow}
        </a>
      }
      query={query}
    >
      {(loaded) => {
        const rows = above(tail, loaded.rows).slice(0, latest)
        return rows.length === 0 ? <Empty text={words.events.none} /> : <EventRows label={text.events} rows={rows} />
      }}
    </Block>
  )
}

/** Scopes of the blocks. */
const scopes = ["relayers:read", "transactions:read", "notifications:read", "events:read"] as const

export const OverviewPage = () => {
  const session = useAtom(sessionState)
  return (
    <Page title={text.title}>
      <div class="grid">
        {!scopes.some((scope) => may(session, scope)) && (
          <Empty text={`${words.failure.needsOne} ${scopes.join(", ")}.`} />
        )}
        {may(session, "relayers:read") && <Attention />}
        {may(session, "relayers:write") && may(session, "relayers:read") && <FirstSteps />}
        {may(session, "transactions:read") ? (
          <>
            <Statistics hasRelayers={may(session, "relayers:read")} />
            <Open />
          </>
        ) : (
          may(session, "relayers:read") && <RelayerCounts />
        )}
        {may(session, "notifications:read") && <Deliveries />}
        {may(session, "events:read") && <Latest />}
      </div>
    </Page>
  )
}
