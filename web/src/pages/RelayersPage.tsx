// The list of relayers. Filters, sort and page are in the address.
import { grouped } from "../data/Amounts.ts"
import { relayerPage } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { Empty, List, Pager } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { relayerMark } from "../parts/States.ts"
import { Tag } from "../parts/Tag.tsx"
import { useAtom, useQuery, useSearch } from "../parts/useAtom.ts"

const text = words.relayers

/** Milliseconds. */
const refreshed = 15_000

const perPage = "100"

const relayerHref = (id: string): string => `/console/relayers/${encodeURIComponent(id)}`

const columns: ReadonlyArray<Column<Relayer>> = [
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

const filters = ["q", "network_type", "network", "signer_id", "notification_id", "paused", "system_disabled"]

const yesNo = [
  { value: "true", label: text.yes },
  { value: "false", label: text.no }
]

const sorts = Object.entries(text.sorts).map(([value, label]) => ({ value, label }))

const Filters = () => (
  <div class="flt">
    <TextFilter name="q" label={text.nameOrId} />
    <SelectFilter name="network_type" label={text.type} choices={choices(["evm", "solana", "stellar"])} />
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
  const query = useQuery(relayerPage(key.toString()), refreshed)
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
      {query.failure?.status === 400 && <ActiveFilters names={[...filters, "sort", "cursor", "page"]} />}
      <Block title={text.title} query={query} rows={10}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty text={isFiltered ? text.noMatch : text.none}>
              {isFiltered ? <ActiveFilters names={filters} /> : undefined}
            </Empty>
          ) : (
            <>
              <List label={text.title} columns={columns} rows={rows} keyOf={({ id }) => id} />
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
