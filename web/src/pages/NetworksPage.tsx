// The list of networks, and one of them: what it is configured to, its RPC URLs, and the relayers on it.
import { useRoute } from "preact-iso"
import { enteredOf } from "../data/FormFields.ts"
import { forms } from "../data/Forms.ts"
import { unitOf } from "../data/Chains.ts"
import { changeNetwork, networkById, networkList, networkPage, networkProviders } from "../data/Networks.ts"
import type { Network } from "../data/Networks.ts"
import { act, refresh } from "../data/Registry.ts"
import { isLimited, may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block, Loaded } from "../parts/Block.tsx"
import { Created } from "../parts/Created.tsx"
import { SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { Empty, List, UnreadableRows } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Tree } from "../parts/Tree.tsx"
import { UnlimitedPatch } from "../parts/UnlimitedPatch.tsx"
import { useAtom, useQuery, useSearch } from "../parts/useAtom.ts"
import { Providers } from "./network/Providers.tsx"

const text = words.networks

const hrefOf = (id: string) => `/console/networks/${encodeURIComponent(id)}`

const columns: ReadonlyArray<Column<Network>> = [
  {
    head: text.name,
    card: "title",
    cell: ({ id, name }) => (
      <a href={hrefOf(id)}>
        <bdi>{name}</bdi>
      </a>
    )
  },
  { head: text.type, card: "state", cell: ({ network_type }) => network_type },
  { head: text.source, cell: ({ source }) => text.sources[source] },
  {
    head: text.chainId,
    isNumber: true,
    card: "hidden",
    cell: (network) => (network.network_type === "evm" ? network.chain_id : "–")
  },
  { head: text.urls, isNumber: true, cell: ({ rpc_urls }) => rpc_urls.length },
  { head: text.test, card: "hidden", cell: ({ is_testnet }) => (is_testnet ? text.yes : text.no) }
]

const sources = Object.entries(text.sources).map(([value, label]) => ({ value, label }))

export const NetworksPage = () => {
  const session = useAtom(sessionState)
  const { parameters } = useSearch()
  const query = useQuery(networkPage)
  const [name, type, source] = ["q", "network_type", "source"].map((key) => parameters.get(key) ?? "")
  const matches = (network: Network) =>
    network.name.toLowerCase().includes((name ?? "").toLowerCase()) &&
    (type === "" || network.network_type === type) &&
    (source === "" || network.source === source)
  return (
    <Page
      title={text.title}
      actions={
        may(session, "networks:write") &&
        !isLimited(session) && (
          <a class="btn p" href="/console/new/network">
            {words.create.network}
          </a>
        )
      }
    >
      <div class="flt">
        <TextFilter name="q" label={text.name} />
        <SelectFilter name="network_type" label={text.type} choices={choices(["evm", "solana", "stellar"])} />
        <SelectFilter name="source" label={text.source} choices={sources} />
      </div>
      <Block title={text.title} query={query} rows={10}>
        {({ rows: networks, unreadable }) => {
          const rows = networks.filter(matches)
          return (
            <>
              <UnreadableRows rows={unreadable} />
              {rows.length === 0 ? (
                <Empty text={text.noMatch} />
              ) : (
                <List label={text.title} columns={columns} rows={rows} keyOf={({ id }) => id} />
              )}
            </>
          )
        }}
      </Block>
    </Page>
  )
}

/** The fields of the URLs are the same for each network type, but that only evm has private ones. */
const urlForm = (type: string) =>
  (forms["CreateEvmNetworkRequest"] ?? []).filter(
    ({ name }) => name === "rpc_urls" || (type === "evm" && name === "private_rpc_urls")
  )

export const NetworkPage = () => {
  const { params } = useRoute()
  const session = useAtom(sessionState)
  const id = params["id"] ?? ""
  const query = useQuery(networkById(id))
  return (
    <Page
      title={query.value?.value.name ?? id}
      crumbs={[{ href: "/console/networks", label: text.title }]}
      sub={query.value?.value.network_type}
    >
      <Loaded query={query} rows={8}>
        {({ value, etag }) => {
          const native = unitOf(value.network_type, undefined, undefined)
          const { name, network_type } = value
          const form = urlForm(network_type)
          const relayersOnIt = new URLSearchParams({ network_type, network: name })
          const relayerForm = new URLSearchParams({ type: network_type, network: name })
          return (
            <>
              <Created next={words.create.nextOfNetwork}>
                {may(session, "relayers:write") && (
                  <a class="btn s p" href={`/console/new/relayer?${relayerForm.toString()}`}>
                    {words.create.relayer}
                  </a>
                )}
              </Created>
              <div class="grid">
                <Providers id={id} />
                <div class="grid g11">
                  <section class="card" aria-label={text.urls}>
                    <h2>
                      {text.urls}
                      <span class="x">
                        <a class="l" href={`/console/relayers?${relayersOnIt.toString()}`}>
                          {text.relayers}
                        </a>
                      </span>
                    </h2>
                    <p class="pad mut">{words.relayers.networkUrlsHint}</p>
                    <UnlimitedPatch
                      form={form}
                      native={native}
                      present={{ entered: enteredOf(form, value, native), etag }}
                      scope="networks:write"
                      save={(patch, seen) => act(changeNetwork(id, patch, seen))}
                      refresh={() => refresh(networkById(id), networkList, networkPage, networkProviders(id))}
                    />
                  </section>
                  <section class="card" aria-label={text.configuration}>
                    <h2>{text.configuration}</h2>
                    <Tree value={value} />
                  </section>
                </div>
              </div>
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}
