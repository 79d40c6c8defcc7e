// Forms that create a relayer, a network, a signer, a webhook or an API key. The address names which, and a parameter names its type.
import { Redacted } from "effect"
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import { create } from "../data/Creation.ts"
import type { Kind } from "../data/Creation.ts"
import type { Failure } from "../data/Failure.ts"
import { bodyOf } from "../data/FormFields.ts"
import type { Entered, Form, Problems } from "../data/FormFields.ts"
import { forms } from "../data/Forms.ts"
import { unitOf } from "../data/Chains.ts"
import { withinLimits } from "../data/Limits.ts"
import { networkList, networkPage } from "../data/Networks.ts"
import { act, refresh } from "../data/Registry.ts"
import { isLimited, may, sessionState } from "../data/Session.ts"
import { payersOf } from "../data/TopUps.ts"
import type { Scope } from "../../../src/domain/access/ApiKey.ts"
import { keyList } from "../data/Keys.ts"
import { signerList, signerPage } from "../data/Signers.ts"
import { webhookList } from "../data/Webhooks.ts"
import { words } from "../words.ts"
import { Bars, Failed } from "../parts/Block.tsx"
import { createdParameter } from "../parts/Created.tsx"
import { SchemaForm } from "../parts/Form.tsx"
import { NoScope } from "../parts/NoScope.tsx"
import { Page, Tabs } from "../parts/Page.tsx"
import { refusedFields } from "../parts/Patch.tsx"
import { Secret } from "../parts/Secret.tsx"
import { useAllRelayers, useRelayers } from "../parts/useChains.ts"
import { useAnswered, useAtom, useQuery, useSearch } from "../parts/useAtom.ts"
import { NotFoundPage } from "./NotFoundPage.tsx"
import { Writes } from "../parts/Writes.tsx"

const text = words.create

interface Creating {
  readonly title: string
  readonly scope: Scope
  /** Schemas by what the person chooses, the usual one first. */
  readonly forms: Readonly<Record<string, string>>
  /** Where the new object is shown. */
  readonly next: (id: string) => string
}

/** The page of the new object, which then says what comes next. */
const created = (list: string) => (id: string) => `/console/${list}/${encodeURIComponent(id)}?${createdParameter}=true`

const kinds: Readonly<Record<Kind, Creating>> = {
  relayer: {
    title: text.relayer,
    scope: "relayers:write",
    forms: {
      evm: "CreateEvmRelayerRequest",
      solana: "CreateSolanaRelayerRequest",
      stellar: "CreateStellarRelayerRequest"
    },
    next: created("relayers")
  },
  network: {
    title: text.network,
    scope: "networks:write",
    forms: {
      evm: "CreateEvmNetworkRequest",
      solana: "CreateSolanaNetworkRequest",
      stellar: "CreateStellarNetworkRequest"
    },
    next: created("networks")
  },
  signer: {
    title: text.signer,
    scope: "signers:write",
    forms: {
      plain: "CreatePlainSignerRequest",
      local: "CreateLocalSignerRequest",
      vault: "CreateVaultSignerRequest",
      vault_transit: "CreateVaultTransitSignerRequest",
      pkcs11: "CreatePkcs11SignerRequest",
      aws_kms: "CreateAwsKmsSignerRequest",
      google_cloud_kms: "CreateGoogleCloudKmsSignerRequest",
      azure_key_vault: "CreateAzureKeyVaultSignerRequest",
      turnkey: "CreateTurnkeySignerRequest"
    },
    next: created("signers")
  },
  webhook: {
    title: text.webhook,
    scope: "notifications:write",
    forms: { webhook: "CreateNotificationRequest" },
    next: created("webhooks")
  },
  key: {
    title: text.key,
    scope: "api-keys:write",
    forms: { key: "CreateApiKeyRequest" },
    next: () => "/console/keys"
  }
}

const isSignerType = (type: string): type is keyof typeof text.signerTypes => type in text.signerTypes

const isKind = (name: string): name is Kind => name in kinds

/** More check boxes would be no help: their ids are entered. */
const mostShown = 100

/** Values that exist already, to choose from. A list that this session may not read is a text field. */
const useKnown = (type: string, network: string | undefined): Readonly<Record<string, ReadonlyArray<string>>> => {
  const networks = useQuery(networkList).value
  const signers = useQuery(signerList).value
  const webhooks = useQuery(webhookList).value
  const relayers = useRelayers()
  const { rows: all } = useAllRelayers()
  return {
    ...(networks === undefined
      ? {}
      : { network: networks.filter(({ network_type }) => network_type === type).map(({ name }) => name) }),
    ...(signers === undefined ? {} : { signer_id: signers.map(({ id }) => id) }),
    ...(webhooks === undefined ? {} : { notification_id: webhooks.map(({ id }) => id) }),
    ...(all === undefined ? {} : { "policies.top_up.from": payersOf({ network_type: type, network }, all) }),
    ...(relayers === undefined || relayers.length === 0 || relayers.length > mostShown
      ? {}
      : { relayer_ids: relayers.map(({ id }) => id) })
  }
}

/** The providers of a network report prices, which decide what counts for the limits of a key. */
const isRefused = (kind: Kind, session: Parameters<typeof may>[0]): boolean => kind === "network" && isLimited(session)

/** What a field of a relayer names. */
const kindOfField = { network: "network", signer_id: "signer", notification_id: "webhook" } as const

/** The pages that create what is missing, if the session may use them. */
const makersOf = (session: Parameters<typeof may>[0]) =>
  Object.fromEntries(
    Object.entries(kindOfField).flatMap(([field, kind]) =>
      may(session, kinds[kind].scope) && !isRefused(kind, session)
        ? [[field, { href: `/console/new/${kind}`, label: kinds[kind].title }]]
        : []
    )
  )

/** What can be chosen only once, such as the signer of a service that has one, is chosen. */
const onlyChoices = (form: Form, known: ReturnType<typeof useKnown>): Entered =>
  Object.fromEntries(
    form.flatMap(({ name, isRequired }) => {
      const [first, ...others] = known[name] ?? []
      return isRequired === true && first !== undefined && others.length === 0 ? [[name, first]] : []
    })
  )

/** What the address says of the new object, such as the signer of a relayer. Secrets are never in an address. */
const givenIn = (form: Form, parameters: URLSearchParams): Entered =>
  Object.fromEntries(
    form.flatMap(({ name, kind }) => {
      const value = kind === "secret" ? null : parameters.get(name)
      return value === null ? [] : [[name, value]]
    })
  )

const CreateForm = ({ kind, type }: { readonly kind: Kind; readonly type: string }) => {
  const { forms: names, next } = kinds[kind]
  const session = useAtom(sessionState)
  const { route } = useLocation()
  const whole = forms[names[type] ?? ""] ?? []
  const { parameters } = useSearch()
  const given = givenIn(whole, parameters)
  const chosen = useKnown(type, undefined)
  const [entered, setEntered] = useState<Entered>({
    ...(kind === "relayer" ? { paused: "false", ...onlyChoices(whole, chosen) } : {}),
    ...given
  })
  const known = useKnown(type, entered["network"])
  const form = kind === "relayer" && isLimited(session) ? withinLimits(whole) : whole
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const [key, renewKey] = useState(() => crypto.randomUUID())
  const [secret, setSecret] = useState<string>()
  const native = unitOf(type, entered["network"], useQuery(networkList).value)
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    const made = bodyOf(form, entered, native)
    setFailure(undefined)
    setProblems(made.problems)
    if (isBusy || Object.keys(made.problems).length > 0) return
    setBusy(true)
    const outcome = await act(create(kind, made.json, key))
    setBusy(false)
    // Whatever the answer is, another body is another request.
    renewKey(crypto.randomUUID())
    if (!outcome.ok) {
      setFailure(outcome.failure)
      if (outcome.failure.status === 400) setProblems(refusedFields(outcome.failure))
      return
    }
    refresh(networkList, networkPage, signerList, signerPage, keyList, webhookList)
    if (outcome.value.key === undefined) route(next(outcome.value.id))
    else setSecret(Redacted.value(outcome.value.key))
  }
  return (
    <form class="card pad" onSubmit={onSubmit}>
      <SchemaForm
        form={form}
        native={native}
        entered={entered}
        problems={problems}
        onChange={setEntered}
        known={known}
        makers={makersOf(session)}
      />
      {failure !== undefined && Object.keys(problems).length === 0 && <Failed failure={failure} />}
      <div class="do">
        <Writes>
          <button class="btn p" type="submit" aria-disabled={isBusy}>
            {isBusy ? text.busy : text.create}
          </button>
        </Writes>
      </div>
      {secret !== undefined && (
        <Secret title={text.keyTitle} text={text.keyText} secret={secret} onStored={() => route(next(""))} />
      )}
    </form>
  )
}

/** A key that is limited to relayers chooses from them: an id that was mistyped would make a key that can do nothing. */
const KeyForm = ({ type }: { readonly type: string }) =>
  useRelayers() === undefined && may(useAtom(sessionState), "relayers:read") ? (
    <Bars rows={8} />
  ) : (
    <CreateForm kind="key" type={type} />
  )

/** A relayer chooses from three lists. Without them, its fields would be text fields. */
const RelayerForm = ({ type }: { readonly type: string }) =>
  useAnswered(useQuery(networkList), useQuery(signerList), useQuery(webhookList)) ? (
    <CreateForm kind="relayer" type={type} />
  ) : (
    <Bars rows={8} />
  )

export const NewPage = () => {
  const { params } = useRoute()
  const { parameters, href } = useSearch()
  const kind = params["kind"] ?? ""
  const session = useAtom(sessionState)
  if (!isKind(kind)) return <NotFoundPage />
  const { title, scope, forms: names } = kinds[kind]
  if (!may(session, scope)) return <NoScope title={title} scope={scope} />
  if (isRefused(kind, session)) {
    return (
      <Page title={title}>
        <p class="sub">{words.limits.network}</p>
      </Page>
    )
  }
  const types = Object.keys(names)
  const [first = ""] = types
  const type = parameters.get("type") ?? first
  return (
    <Page title={title}>
      {types.length > 1 && (
        <Tabs
          label={text.type}
          tabs={types.map((name) => ({ href: href({ type: name }), label: name, isCurrent: name === type }))}
        />
      )}
      {kind === "signer" && isSignerType(type) && <p class="sub">{text.signerTypes[type]}</p>}
      {kind === "network" && <p class="sub">{text.ownNetwork}</p>}
      {kind === "relayer" && isLimited(session) && <p class="sub">{words.limits.relayer}</p>}
      {kind === "relayer" ? (
        <RelayerForm key={type} type={type} />
      ) : kind === "key" ? (
        <KeyForm type={type} />
      ) : (
        <CreateForm key={`${kind} ${type}`} kind={kind} type={type} />
      )}
    </Page>
  )
}
