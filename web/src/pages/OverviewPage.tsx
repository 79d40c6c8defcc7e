// The first page: which relayers the service has disabled and why, what is open, and what happened last.
import { connection } from "../data/Client.ts"
import { grouped } from "../data/Amounts.ts"
import { eventPage } from "../data/Events.ts"
import { may, sessionState } from "../data/Session.ts"
import { relayerPage } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
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

const text = words.overview

/** Milliseconds. */
const urgent = 5_000
const refreshed = 15_000

const attentionRows = "20"

const hrefOf = (id: string) => `/console/relayers/${encodeURIComponent(id)}`

const Item = ({ relayer }: { readonly relayer: Relayer }) => (
  <div class="att">
    <span class="ico b">
      <Icon name="bad" size={17} />
    </span>
    <b>
      <a href={hrefOf(relayer.id)}>
        <bdi>{text.isDisabled(relayer.name)}</bdi>
      </a>
    </b>
    <div class="why">
      <code>{relayer.disabled_reason?.type}</code> {relayer.network}: <bdi>{relayer.disabled_reason?.details}</bdi>
    </div>
    <div class="do">
      <a class="btn s" href={hrefOf(relayer.id)}>
        {text.open}
      </a>
      <a class="btn s" href={`${hrefOf(relayer.id)}/urls`}>
        {words.relayers.changeUrls}
      </a>
    </div>
  </div>
)

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

const Disabled = () => {
  const query = useQuery(relayerPage(`system_disabled=true&per_page=${attentionRows}`), urgent)
  const total = query.value?.total ?? 0
  return (
    <Block
      title={text.disabled}
      aside={
        total > Number(attentionRows) && (
          <a class="l" href="/console/relayers?system_disabled=true">
            {text.all(grouped(total))}
          </a>
        )
      }
      query={query}
    >
      {({ rows }) =>
        rows.length === 0 ? <Nothing /> : rows.map((relayer) => <Item key={relayer.id} relayer={relayer} />)
      }
    </Block>
  )
}

const Count = ({ label, filter }: { readonly label: string; readonly filter: string }) => {
  const query = useQuery(relayerPage(`${filter}${filter === "" ? "" : "&"}per_page=1`), refreshed)
  const href = filter === "" ? "/console/relayers" : `/console/relayers?${filter}`
  return (
    <a class="card pad stat" href={href}>
      <div class="k">{label}</div>
      <div class="v">{query.value?.total === undefined ? "–" : grouped(query.value.total)}</div>
    </a>
  )
}

const Relayers = () => (
  <>
    <Disabled />
    <div class="grid g4">
      <Count label={text.relayers} filter="" />
      <Count label={text.countDisabled} filter="system_disabled=true" />
      <Count label={text.countPaused} filter="paused=true" />
    </div>
  </>
)

const held = "held=true&per_page=20"

/** Open transactions that wait for something else than their turn, which is what may need a person. */
const Held = () => {
  const query = useQuery(transactionPage(held), urgent)
  return (
    <Block
      title={text.held}
      aside={
        <a class="l" href="/console/transactions?held=true">
          {words.relayers.all}
        </a>
      }
      query={query}
    >
      {({ rows }) =>
        rows.length === 0 ? <Empty text={text.noneHeld} /> : <TransactionRows label={text.held} rows={rows} />
      }
    </Block>
  )
}

const Open = () => {
  const key = new URLSearchParams([["per_page", "20"], ...openStatuses.map((status) => ["status", status])])
  const query = useQuery(transactionPage(key.toString()), refreshed)
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
          <TransactionRows label={words.relayers.open} rows={rows} />
        )
      }
    </Block>
  )
}

const Latest = () => {
  const query = useQuery(eventPage("before=latest&limit=10"), refreshed)
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
      {({ rows }) =>
        rows.length === 0 ? <Empty text={words.events.none} /> : <EventRows label={text.events} rows={rows} />
      }
    </Block>
  )
}

export const OverviewPage = () => {
  const session = useAtom(sessionState)
  return (
    <Page title={text.title}>
      <div class="grid">
        {may(session, "relayers:read") && <Relayers />}
        {may(session, "transactions:read") && (
          <>
            <Held />
            <Open />
          </>
        )}
        {may(session, "events:read") && <Latest />}
      </div>
    </Page>
  )
}
