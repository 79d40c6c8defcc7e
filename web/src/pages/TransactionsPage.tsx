// The list of transactions over all relayers, the newest first. Filters and page are in the address.
import { finalStatuses, openStatuses, transactionPage } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { Empty, Pager } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { TransactionRows } from "../parts/TransactionRows.tsx"
import { useQuery, useSearch } from "../parts/useAtom.ts"
import { useChains } from "../parts/useChains.ts"

const text = words.transactions

const filters = [
  "status",
  "code",
  "held",
  "relayer_id",
  "external_id",
  "hash",
  "origin",
  "created_after",
  "created_before"
]

const yesNo = [
  { value: "true", label: words.relayers.yes },
  { value: "false", label: words.relayers.no }
]

const perPage = "100"

export const TransactionsPage = () => {
  const { parameters, href } = useSearch()
  const key = new URLSearchParams(parameters)
  if (!key.has("per_page")) key.set("per_page", perPage)
  const query = useQuery(transactionPage(key.toString()))
  const chainOf = useChains()
  const isFiltered = filters.some((name) => parameters.has(name))
  return (
    <Page
      title={text.title}
      sub={text.newest}
      actions={
        <button class="btn" type="button" onClick={query.refresh}>
          {text.refresh}
        </button>
      }
    >
      <div class="flt">
        <TextFilter name="external_id" label={text.externalId} />
        <TextFilter name="relayer_id" label={text.relayer} />
        <SelectFilter name="status" label={text.state} choices={choices([...openStatuses, ...finalStatuses])} />
        <TextFilter name="code" label={text.waitsWith} />
        <SelectFilter name="held" label={text.held} choices={yesNo} />
        <SelectFilter name="origin" label={text.origin} choices={choices(["request", "gap"])} />
      </div>
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.title} query={query} rows={10}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty text={isFiltered ? text.noMatch : text.none}>
              {isFiltered ? <ActiveFilters names={filters} /> : undefined}
            </Empty>
          ) : (
            <>
              <TransactionRows label={text.title} rows={rows} chainOf={chainOf} />
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
