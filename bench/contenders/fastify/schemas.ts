// JSON schemas of requests and responses. The order of properties is the order of fields in responses.

const amount = {
  anyOf: [
    { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    { type: "string", pattern: "^[0-9]{1,38}$" }
  ]
}
const id = { type: "string", pattern: "^[A-Za-z0-9_-]{1,36}$" }
const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength, pattern: "^[^\\u0000]*$" })
const flag = { type: "boolean" }

export const createRelayer = {
  type: "object",
  additionalProperties: false,
  required: ["name", "network", "network_type", "paused", "signer_id"],
  properties: {
    id,
    name: text(256),
    network: { type: "string", pattern: "^[^\\s/]{1,64}$" },
    network_type: { const: "evm" },
    paused: flag,
    signer_id: id,
    policies: {
      type: "object",
      additionalProperties: false,
      properties: {
        eip1559_pricing: flag,
        gas_limit_estimation: flag,
        gas_price_cap: amount,
        include_revert_data: flag,
        min_balance: amount,
        private_transactions: flag,
        whitelist_receivers: {
          type: "array",
          maxItems: 1000,
          items: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" }
        }
      }
    }
  }
}

const digits = { type: "string", pattern: "^[0-9]+$" }

export const listQuery = {
  type: "object",
  additionalProperties: false,
  properties: { page: digits, per_page: digits, cursor: { type: "string" } }
}

export const oneParams = { type: "object", properties: { id } }

const shownText = { type: "string" }
const rpcUrl = { type: "object", properties: { url: shownText, weight: { type: "integer" } } }

const relayer = {
  type: "object",
  properties: {
    id: shownText,
    name: shownText,
    network: shownText,
    address: shownText,
    paused: flag,
    system_disabled: flag,
    disabled_reason: { type: "object", properties: { type: shownText, details: shownText } },
    signer_id: shownText,
    notification_id: shownText,
    custom_rpc_urls: { type: "array", items: rpcUrl },
    network_type: shownText,
    policies: {
      type: "object",
      properties: {
        eip1559_pricing: flag,
        gas_limit_estimation: flag,
        gas_price_cap: { type: "integer" },
        include_revert_data: flag,
        min_balance: { type: "integer" },
        private_transactions: flag,
        whitelist_receivers: { type: "array", items: shownText }
      }
    }
  }
}

export const oneAnswer = { type: "object", properties: { success: flag, data: relayer } }

const count = { type: "integer" }

export const pageAnswer = {
  type: "object",
  properties: {
    success: flag,
    data: { type: "array", items: relayer },
    pagination: { type: "object", properties: { current_page: count, per_page: count, total_items: count } }
  }
}
