// The list of relayers. Filters, sort and page are in the address.
import { grouped } from "../data/Amounts.ts"
import { relayerPage } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import { Empty, Pager, UnreadableRows } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { RelayerRows } from "../parts/RelayerRows.tsx"
import { useAtom, useQuery, useSearch } from "../parts/useAtom.ts"
import { useEventsAbout } from "../parts/useEvents.ts"

const text = words.relayers

/** Milliseconds. */
const refreshed = 15_000

const perPage = "100"

const filters = ["q", "network_type", "network", "signer_id", "notification_id", "paused", "system_disabled", "state"]

/** States of the last check, the worst first. */
const states = ["disabled", "failing", "waiting", "degraded", "healthy", "unknown"] as const

const yesNo = [
  { value: "true", label: text.yes },
  { value: "false", label: text.no }
]

const sorts = Object.entries(text.sorts).map(([value, label]) => ({ value, label }))

const Filters = () => (
  <div class="flt">
    <TextFilter name="q" label={text.nameOrId} />
    <SelectFilter name="network_type" label={text.type} choices={choices(["evm", "solana", "stellar"])} />
    <SelectFilter
      name="state"
      label={text.state}
      choices={states.map((value) => ({ value, label: words.states[value] }))}
    />
    <SelectFilter name="system_disabled" label={text.disabled} choices={yesNo} />
    <SelectFilter name="paused" label={text.paused} choices={yesNo} />
    <SelectFilter name="sort" label={text.sort} choices={sorts} any={text.sortDefault} />
  </div>
)

export const RelayersPage = () => {
  const session = useAtom(sessionState)
  const { parameters, href } = useSearch()
  const key = new URLSearchParams(parameters)
  if (!key.has("per_page")) key.set("per_page", perPage)
  key.set("include", "health")
  const query = useQuery(relayerPage(key.toString()), refreshed)
  useEventsAbout(({ type }) => type.startsWith("relayer."), query.refresh)
  const networks = useQuery(networkList).value
  const total = query.value?.total
  const isFiltered = filters.some((name) => parameters.has(name))
  return (
    <Page
      title={text.title}
      sub={total === undefined ? "" : text.count(grouped(total))}
      actions={
        may(session, "relayers:write") && (
          <a class="btn p" href="/console/new/relayer">
            {words.create.relayer}
          </a>
        )
      }
    >
      <Filters />
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.title} query={query} rows={10}>
        {({ rows, unreadable, next }) =>
          rows.length + unreadable.length === 0 ? (
            <Empty text={isFiltered ? text.noMatch : text.none}>
              {isFiltered ? <ActiveFilters names={filters} /> : undefined}
            </Empty>
          ) : (
            <>
              <UnreadableRows rows={unreadable} />
              {rows.length > 0 && (
                <RelayerRows
                  label={text.title}
                  rows={rows}
                  unitOf={({ network_type, network }) => unitOf(network_type, network, networks)}
                />
              )}
              <Pager
                first={parameters.has("cursor") ? href({ cursor: undefined }) : undefined}
                next={next === undefined ? undefined : href({ cursor: next })}
              />
            </>
          )
        }
      </Block>
    </Page>
  )
}
