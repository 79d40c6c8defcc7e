// What an event or an audit record is about: a link to its page, or its id if it has none.

/** Pages by the first part of the name of an event or of an action, such as `relayer.disabled`. */
const places: Readonly<Record<string, string>> = {
  relayer: "relayers",
  transaction: "transactions",
  signer: "signers",
  network: "networks",
  notification: "webhooks",
  key: "keys"
}

interface Props {
  /** The type of the event, or the action of the record. */
  readonly type: string
  readonly id: string
}

/** A resource that was deleted has no page any more. */
const hrefOf = ({ type, id }: Props): string | undefined => {
  const [kind = ""] = type.split(".")
  const place = places[kind]
  return place === undefined || type.endsWith(".deleted") ? undefined : `/console/${place}/${encodeURIComponent(id)}`
}

export const ResourceLink = (props: Props) => {
  const href = hrefOf(props)
  return href === undefined ? (
    <bdi class="wrap">{props.id}</bdi>
  ) : (
    <a class="wrap" href={href}>
      <bdi>{props.id}</bdi>
    </a>
  )
}
