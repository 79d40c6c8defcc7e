// A new relayer: its creation asks no provider, so that this page does, until the relayer is healthy.
import { useEffect } from "preact/hooks"
import { act, refresh } from "../../data/Registry.ts"
import { checkRelayer, relayerById, relayerExplanation, relayerStatus } from "../../data/Relayers.ts"
import type { Relayer, RelayerExplanation } from "../../data/Relayers.ts"
import { networkList } from "../../data/Networks.ts"
import { words } from "../../words.ts"
import { Created, createdParameter } from "../../parts/Created.tsx"
import { Command, quoted } from "../../parts/Curl.tsx"
import { useQuery, useSearch } from "../../parts/useAtom.ts"

const text = words.create.nextOfRelayer

/** Milliseconds between two checks. */
const interval = 15_000

const nextOf = (said: RelayerExplanation | undefined) => {
  if (said === undefined || said.state === "unknown") return text.asking
  if (said.state === "healthy") return text.healthy
  return said.funding === undefined ? text.other : text.funds
}

/** The chain id of anvil, which gives an account ether from nowhere, and of other development chains. */
const development = 31_337

/** Wei. */
const gift = 10n * 10n ** 18n

/** Sets the balance of the address on anvil. */
const giftTo = (address: string, url: string) =>
  `curl ${quoted(url)} -H 'Content-Type: application/json' -d ${quoted(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_setBalance", params: [address, `0x${gift.toString(16)}`] })
  )}`

/** The command that funds an account, if its network is anvil. */
const AnvilCommand = ({ network, address }: { readonly network: string; readonly address: string }) => {
  const chain = useQuery(networkList).value?.find(
    (one) => one.network_type === "evm" && one.name === network && one.chain_id === development
  )
  const [provider] = chain?.rpc_urls ?? []
  return provider === undefined ? null : <Command summary={text.anvil} command={giftTo(address, provider.url)} />
}

interface Props {
  readonly relayer: Relayer
  readonly said: RelayerExplanation | undefined
}

export const FirstCheck = ({ relayer: { id, network }, said }: Props) => {
  const { parameters } = useSearch()
  const state = said?.state
  const isDue = parameters.has(createdParameter) && state !== "healthy"
  useEffect(() => {
    if (!isDue) return
    const check = async () => {
      await act(checkRelayer(id))
      refresh(relayerById(id), relayerExplanation(id), relayerStatus(id))
    }
    void check()
    const timer = setInterval(() => void check(), interval)
    return () => clearInterval(timer)
  }, [id, isDue])
  return (
    <>
      <Created next={nextOf(said)} />
      {isDue && said?.funding !== undefined && <AnvilCommand network={network} address={said.funding.address} />}
    </>
  )
}
