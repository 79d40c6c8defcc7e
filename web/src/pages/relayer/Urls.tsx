// The RPC URLs that a relayer uses: its own, or those of its network, which other relayers use too.
import { forms } from "../../data/Forms.ts"
import { useState } from "preact/hooks"
import { enteredOf } from "../../data/FormFields.ts"
import type { Form } from "../../data/FormFields.ts"
import { unitOf } from "../../data/Chains.ts"
import { changeNetwork, networkById, networkList, networkPage } from "../../data/Networks.ts"
import type { Network } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import { changeRelayer, checkRelayer, relayerById, relayerExplanation, relayerStatus } from "../../data/Relayers.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { isLimited, sessionState } from "../../data/Session.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { UnlimitedPatch } from "../../parts/UnlimitedPatch.tsx"
import { useAtom, useQuery } from "../../parts/useAtom.ts"

const text = words.relayers

const only = (form: string, name: string): Form => (forms[form] ?? []).filter((field) => field.name === name)

/** The fields of the URLs are the same for each network type. */
const ownForm = only("CreateEvmRelayerRequest", "custom_rpc_urls")
const privateForm = only("CreateEvmRelayerRequest", "custom_private_rpc_urls")
const networkForm = only("CreateEvmNetworkRequest", "rpc_urls")

interface Props {
  readonly details: Versioned<Relayer>
}

/** After a repair, the service looks at once whether it helped. */
const refreshHealth = async (id: string) => {
  await act(checkRelayer(id))
  refresh(relayerById(id), relayerExplanation(id), relayerStatus(id))
}

interface OwnProps extends Props {
  readonly title: string
  readonly hint: string
  readonly form: Form
}

const OwnUrls = ({ details: { value: relayer, etag }, title, hint, form }: OwnProps) => {
  const native = unitOf(relayer.network_type, undefined, undefined)
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <p class="pad mut">{hint}</p>
      <UnlimitedPatch
        form={form}
        native={native}
        present={{ entered: enteredOf(form, relayer, native), etag }}
        scope="relayers:write"
        save={(patch, seen) => act(changeRelayer(relayer.id, patch, seen))}
        refresh={() => void refreshHealth(relayer.id)}
      />
    </section>
  )
}

const NetworkUrls = ({ relayer, network }: { readonly relayer: Relayer; readonly network: Network }) => {
  const details = useQuery(networkById(network.id))
  const native = unitOf(relayer.network_type, undefined, undefined)
  return (
    <Block title={text.networkUrlsTitle(network.name)} query={details}>
      {({ value, etag }) => (
        <>
          <p class="pad mut">{text.networkUrlsHint}</p>
          <UnlimitedPatch
            form={networkForm}
            native={native}
            present={{ entered: enteredOf(networkForm, value, native), etag }}
            scope="networks:write"
            save={(patch, seen) => act(changeNetwork(network.id, patch, seen))}
            refresh={() => {
              refresh(networkById(network.id), networkList, networkPage)
              void refreshHealth(relayer.id)
            }}
          />
        </>
      )}
    </Block>
  )
}

const NormalUrls = ({ details }: Props) => {
  const { value: relayer } = details
  const networks = useQuery(networkList)
  const session = useAtom(sessionState)
  const [isOwn, setOwn] = useState(relayer.custom_rpc_urls !== undefined)
  if (isOwn) return <OwnUrls details={details} title={text.ownUrlsTitle} hint={text.ownUrlsHint} form={ownForm} />
  const network = networks.value?.find(
    ({ name, network_type }) => name === relayer.network && network_type === relayer.network_type
  )
  return (
    <>
      {network === undefined ? (
        <Block title={text.urls} query={networks}>
          {() => null}
        </Block>
      ) : (
        <NetworkUrls relayer={relayer} network={network} />
      )}
      {!isLimited(session) && (
        <button class="btn start" type="button" onClick={() => setOwn(true)}>
          {text.giveOwn}
        </button>
      )}
    </>
  )
}

/** Only evm relayers send privately. */
export const RelayerUrls = ({ details }: Props) => (
  <div class="grid">
    <NormalUrls details={details} />
    {details.value.network_type === "evm" && (
      <OwnUrls details={details} title={text.privateUrls} hint={text.privateUrlsHint} form={privateForm} />
    )}
  </div>
)
