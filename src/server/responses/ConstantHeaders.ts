// Header fields of every response, also of those that Node's server sends before there is a request.

/**
 * Responses hold data that only the caller may see, some of it secret: caches must not store them. Documents that everyone
 * may see set another `cache-control`.
 */
export const constantHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const
