// A relayer: what the service says of it, and its tabs. Each tab has an address.
import type { ComponentChildren } from "preact"
import type { Scope } from "../../../src/domain/access/ApiKey.ts"
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import {
  changeRelayer,
  checkRelayer,
  deleteRelayer,
  relayerById,
  relayerExplanation,
  relayerStatus
} from "../data/Relayers.ts"
import type { Relayer, RelayerExplanation } from "../data/Relayers.ts"
import type { Versioned } from "../data/Pages.ts"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import { act, refresh } from "../data/Registry.ts"
import { may, sessionState } from "../data/Session.ts"
import { isSending } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Amount } from "../parts/Amount.tsx"
import { Loaded } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { useQuestion } from "../parts/Dialog.tsx"
import type { Question } from "../parts/Dialog.tsx"
import { Page, Tabs } from "../parts/Page.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { Say } from "../parts/Say.tsx"
import { markOf, relayerMark } from "../parts/States.ts"
import { transactionHref } from "../parts/TransactionRows.tsx"
import { Tag } from "../parts/Tag.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import type { Shown } from "../parts/useAtom.ts"
import { useEventsAbout } from "../parts/useEvents.ts"
import { RelayerDelegation } from "./relayer/Delegation.tsx"
import { FirstCheck } from "./relayer/FirstCheck.tsx"
import { RelayerEvents, RelayerTransactions } from "./relayer/Lists.tsx"
import { RelayerNonces } from "./relayer/Nonces.tsx"
import { RelayerPolicies } from "./relayer/Policies.tsx"
import { RelayerSettings } from "./relayer/Settings.tsx"
import { RelayerSummary } from "./relayer/Summary.tsx"
import { RelayerUrls } from "./relayer/Urls.tsx"
import { Writes } from "../parts/Writes.tsx"

const text = words.relayers

/** Milliseconds between two looks at what the service says. */
const refreshed = 15_000

type Details = Versioned<Relayer>

interface TabProps {
  readonly details: Details
}

const tabs: ReadonlyArray<{
  readonly name: string
  readonly label: string
  /** Instead of the other one, on pages of stellar relayers. */
  readonly stellarLabel?: string
  readonly isOf?: (relayer: Relayer) => boolean
  readonly scope?: Scope
  readonly content: (props: TabProps) => ComponentChildren
}> = [
  { name: "", label: text.summary, content: RelayerSummary },
  { name: "transactions", label: text.transactions, scope: "transactions:read", content: RelayerTransactions },
  { name: "settings", label: text.settings, content: RelayerSettings },
  { name: "policies", label: text.policies, content: RelayerPolicies },
  { name: "urls", label: text.urls, content: RelayerUrls },
  {
    name: "nonces",
    label: text.nonces,
    stellarLabel: text.sequences,
    // The service answers 501 for solana, whose accounts have no sequences.
    isOf: ({ network_type }) => network_type !== "solana",
    scope: "transactions:read",
    content: RelayerNonces
  },
  {
    name: "delegation",
    label: words.delegation.title,
    // Accounts of other networks do not delegate.
    isOf: ({ network_type }) => network_type === "evm",
    content: RelayerDelegation
  },
  { name: "events", label: text.events, scope: "events:read", content: RelayerEvents }
]

const hrefOf = (id: string, tab: string) => `/console/relayers/${encodeURIComponent(id)}${tab === "" ? "" : `/${tab}`}`

const refreshAll = (id: string) => refresh(relayerById(id), relayerExplanation(id), relayerStatus(id))

const Explanation = ({ relayer, said }: { readonly relayer: Relayer; readonly said: RelayerExplanation }) => {
  const unit = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  const isUrl = said.state === "disabled" || said.state === "failing" || said.state === "degraded"
  return (
    <Say
      mark={markOf(said.paused && said.state === "healthy" ? "paused" : said.state)}
      reason={said.reason}
      next={said.next}
      code={said.code}
      since={said.since}
      nextAt={said.next_at}
      unit={unit}
    >
      {said.funding !== undefined && (
        <span class="fund">
          <Amount value={said.funding.missing} unit={unit} /> → <Code text={said.funding.address} />
        </span>
      )}
      {said.front !== undefined && (
        <a class="btn s" href={transactionHref({ relayer_id: relayer.id, id: said.front.transaction_id })}>
          {text.openFront}
        </a>
      )}
      {isUrl && said.funding === undefined && (
        <a class="btn s" href={hrefOf(relayer.id, "urls")}>
          {text.changeUrls}
        </a>
      )}
    </Say>
  )
}

const questions = (id: string, { value: relayer, etag }: Details, leave: () => void) => {
  const change = (payload: { readonly paused: boolean }) =>
    act(changeRelayer(id, payload, etag)).finally(() => refreshAll(id))
  return {
    pause: {
      title: relayer.paused ? text.resumeTitle : text.pauseTitle,
      text: relayer.paused ? text.resumeText : text.pauseText,
      action: relayer.paused ? text.resume : text.pause,
      act: () => change({ paused: !relayer.paused })
    },
    remove: {
      title: text.deleteTitle,
      text: text.deleteText,
      action: text.deleteAction,
      isDangerous: true,
      typed: id,
      act: async () => {
        const outcome = await act(deleteRelayer(id, etag))
        if (outcome.ok) leave()
        return outcome
      }
    }
  } satisfies Record<string, Question>
}

const Actions = ({ id, details }: { readonly id: string; readonly details: Details }) => {
  const session = useAtom(sessionState)
  const { route } = useLocation()
  const [dialog, ask] = useQuestion()
  const [isChecking, setChecking] = useState(false)
  const { pause, remove } = questions(id, details, () => route("/console/relayers"))
  const onCheck = async () => {
    setChecking(true)
    await act(checkRelayer(id))
    setChecking(false)
    refreshAll(id)
  }
  const mayWrite = may(session, "relayers:write")
  return (
    <>
      {may(session, "transactions:write") && isSending(details.value.network_type) && (
        <a class="btn p" href={hrefOf(id, "send")}>
          {words.send.send}
        </a>
      )}
      <Writes>
        <button class="btn" type="button" aria-disabled={isChecking} onClick={onCheck}>
          {isChecking ? text.checking : text.check}
        </button>
        {mayWrite && (
          <>
            <button class="btn" type="button" onClick={() => ask(pause)}>
              {details.value.paused ? text.resume : text.pause}
            </button>
            <button class="btn d" type="button" onClick={() => ask(remove)}>
              {text.delete}
            </button>
          </>
        )}
      </Writes>
      {dialog}
    </>
  )
}

const Content = ({ details, tab }: { readonly details: Details; readonly tab: string }) => {
  const { value: relayer } = details
  const session = useAtom(sessionState)
  const shown = tabs.filter(
    ({ isOf, scope }) => (isOf === undefined || isOf(relayer)) && (scope === undefined || may(session, scope))
  )
  const current = shown.find(({ name }) => name === tab) ?? shown[0]
  const Tab = current?.content
  return (
    <>
      <Tabs
        label={text.one}
        tabs={shown.map(({ name, label, stellarLabel = label }) => ({
          href: hrefOf(relayer.id, name),
          label: relayer.network_type === "stellar" ? stellarLabel : label,
          isCurrent: name === current?.name
        }))}
      />
      {Tab !== undefined && <Tab details={details} />}
    </>
  )
}

const crumbs = [{ href: "/console/relayers", label: text.title }]

/** A relayer that exists: only then the service is asked for more of it. */
const FoundRelayer = ({
  query,
  found,
  tab
}: {
  readonly query: Shown<Details>
  readonly found: Details
  readonly tab: string
}) => {
  const relayer = found.value
  const { id } = relayer
  const said = useQuery(relayerExplanation(id), refreshed)
  useEventsAbout(
    ({ type, resource_id }) => type.startsWith("relayer.") && resource_id === id,
    () => refresh(relayerById(id), relayerExplanation(id))
  )
  return (
    <Page
      title={relayer.name}
      crumbs={crumbs}
      heading={
        <>
          <bdi>{relayer.name}</bdi>{" "}
          <Tag {...(said.value === undefined || relayer.paused ? relayerMark(relayer) : markOf(said.value.state))} />
        </>
      }
      sub={
        <>
          <code>{id}</code> · <ResourceLink type="network" id={`${relayer.network_type}:${relayer.network}`} /> ·{" "}
          <Code text={relayer.address} full />
        </>
      }
      actions={<Actions id={id} details={found} />}
    >
      <Loaded query={query} rows={6}>
        {(value) => (
          <>
            <FirstCheck relayer={value.value} said={said.value} />
            <Loaded query={said} rows={1}>
              {(said) => <Explanation relayer={value.value} said={said} />}
            </Loaded>
            <Content details={value} tab={tab} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

export const RelayerPage = () => {
  const { params } = useRoute()
  const id = params["id"] ?? ""
  const query = useQuery(relayerById(id), refreshed)
  return query.value === undefined ? (
    <Page title={id} crumbs={crumbs}>
      <Loaded query={query} rows={6}>
        {() => null}
      </Loaded>
    </Page>
  ) : (
    <FoundRelayer key={id} query={query} found={query.value} tab={params["tab"] ?? ""} />
  )
}
