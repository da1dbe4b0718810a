/** `yaoki/http`: a `fetch` that survives, a client with breakers and bulkheads, Retry-After, deadlines across services. Runs anywhere. */
export { HttpError } from '../core/errors/errors.ts'
export { isCached } from './cache/cached-response.ts'
export type { CacheOptions } from './cache/options.ts'
export type { CacheStats } from './cache/response-cache.ts'
export type { RequestSettings, ResilientInit } from './call-settings.ts'
export {
	type HttpClientInit,
	type HttpClientOptions,
	ResilientHttpClient,
} from './client/resilient-http-client.ts'
export type { HttpClientStats, OriginStats } from './client/stats.ts'
export type { RequestBody } from './exchange/body.ts'
export { HttpStatusError } from './exchange/status-error.ts'
export type { HttpOptions } from './options.ts'
export { type ResilientFetch, type ResilientFetchOptions, resilientFetch } from './resilient-fetch.ts'
export { parseRetryAfter } from './retry-after/parse-retry-after.ts'
export { type RetryAfterOptions, retryWithRetryAfter } from './retry-after/retry-with-retry-after.ts'
export type { DeadlineHeader } from './service/deadline-headers.ts'
export { fastifyServerContext } from './service/fastify.ts'
export { withServerContext } from './service/fetch-handler.ts'
export { honoServerContext } from './service/hono.ts'
export type { IncomingRequest } from './service/incoming.ts'
export { expressServerContext, nodeServerContext } from './service/node-handler.ts'
export type { ServeOptions, ServerContextOptions, SingleContextOptions } from './service/options.ts'
export type { ServerContext } from './service/request-context.ts'
export { serverContext, serverContextOf } from './service/server-context.ts'
export type { HttpResponse, Transport, TransportInit } from './transport/transport.ts'
export { type UndiciTransportOptions, undiciTransport } from './transport/undici-transport.ts'
