// What the service refuses to an API key with limits of what its transactions may send, whatever its scopes are.
import type { Form } from "./FormFields.ts"

/** Providers report prices, and what a payment of top-ups sends counts for no key. */
const refused = /^(custom_rpc_urls|custom_private_rpc_urls|policies\.top_up\..+)$/

/** The fields of a new relayer that such a key may use. */
export const withinLimits = (form: Form): Form => form.filter(({ name }) => !refused.test(name))
