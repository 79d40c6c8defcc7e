// The lists of a relayer: its transactions and events.
import { unitOf } from "../../data/Chains.ts"
import { isAboutRelayer } from "../../data/EventFilter.ts"
import { eventPage } from "../../data/Events.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { above } from "../../data/Tail.ts"
import { finalStatuses, openStatuses, transactionPage } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { EventRows } from "../../parts/EventRows.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../../parts/Filters.tsx"
import { Empty, Pager } from "../../parts/List.tsx"
import { TransactionRows } from "../../parts/TransactionRows.tsx"
import { useQuery, useSearch } from "../../parts/useAtom.ts"
import { useTail } from "../../parts/useEvents.ts"

const text = words.relayers

interface Props {
  readonly details: Versioned<Relayer>
}

const filters = ["status", "external_id", "origin"]

export const RelayerTransactions = ({ details: { value: relayer } }: Props) => {
  const { parameters, href } = useSearch()
  const key = new URLSearchParams(parameters)
  key.set("relayer_id", relayer.id)
  const query = useQuery(transactionPage(key.toString()))
  const unit = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  return (
    <>
      <div class="flt">
        <TextFilter name="external_id" label={words.transactions.externalId} />
        <SelectFilter
          name="status"
          label={words.transactions.state}
          choices={choices([...openStatuses, ...finalStatuses])}
        />
      </div>
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.transactions} query={query} rows={10}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty
              text={filters.some((name) => parameters.has(name)) ? words.transactions.noMatch : words.transactions.none}
            />
          ) : (
            <>
              <TransactionRows label={text.transactions} rows={rows} chainOf={() => ({ unit })} hasRelayer={false} />
              <Pager
                first={parameters.has("cursor") ? href({ cursor: undefined }) : undefined}
                next={next === undefined ? undefined : href({ cursor: next })}
              />
            </>
          )
        }
      </Block>
    </>
  )
}

/** Events on a page. */
const eventsPerPage = 50

export const RelayerEvents = ({ details: { value: relayer } }: Props) => {
  const { parameters, href } = useSearch()
  const before = parameters.get("before") ?? "latest"
  const isLatest = before === "latest"
  const key = new URLSearchParams(parameters)
  key.set("relayer_id", relayer.id)
  key.set("before", before)
  key.set("limit", String(eventsPerPage))
  const query = useQuery(eventPage(key.toString()))
  const tail = useTail({
    matches: (event) => isAboutRelayer(event, relayer.id),
    isPaused: false,
    isOn: isLatest,
    refresh: query.refresh
  })
  return (
    <>
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.events} query={query} rows={6}>
        {(loaded) => {
          const rows = isLatest ? above(tail, loaded.rows) : loaded.rows
          return rows.length === 0 ? (
            <Empty text={words.events.none} />
          ) : (
            <>
              <EventRows label={text.events} rows={rows} />
              <Pager
                first={isLatest ? undefined : href({ before: undefined })}
                next={loaded.rows.length < eventsPerPage ? undefined : href({ before: String(rows.at(-1)?.id) })}
              />
            </>
          )
        }}
      </Block>
    </>
  )
}
