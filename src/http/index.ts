/**
 * `yaoki/http`: a resilient `fetch`, an HTTP client with circuit breakers and bulkheads per origin, adapters for axios and undici,
 * Retry-After, and deadlines across services. Runs anywhere.
 */
export { HttpError } from '../core/errors/errors.ts'
export type { SchemaIssue, StandardSchema } from '../core/options/standard-schema.ts'
export { type AxiosAdapterOptions, axiosAdapter } from './adapters/axios/axios-adapter.ts'
export { type UndiciInterceptor, undiciInterceptor } from './adapters/undici/undici-interceptor.ts'
export { isCachedResponse } from './cache/cached-response.ts'
export type { CacheOptions } from './cache/options.ts'
export type { CacheStats } from './cache/response-cache.ts'
export type { AuthOptions } from './client/auth.ts'
export type { HttpClientOptions } from './client/client-options.ts'
export type { HttpClientInit, HttpClientReadInit } from './client/client-request.ts'
export { InvalidResponseError } from './client/invalid-response-error.ts'
export type { OriginStats } from './client/origin-pipeline.ts'
export type { RequestDefaultOptions, RequestHeaders } from './client/request-defaults.ts'
export { type ResilientFetch, type ResilientFetchOptions, resilientFetch } from './client/resilient-fetch.ts'
export {
	type HttpClientStats,
	ResilientHttpClient,
} from './client/resilient-http-client.ts'
export type { ResponsePromise } from './client/response-promise.ts'
export { type RetryWithRetryAfterOptions, retryWithRetryAfter } from './client/retry-with-retry-after.ts'
export type { SearchParams } from './client/search-params.ts'
export type { DeadlineHeader } from './headers/deadline-headers.ts'
export { parseRetryAfter } from './headers/retry-after.ts'
export type { HttpOptions, ResponseLimitOptions } from './options/http-options.ts'
export type { HttpServiceConfig } from './options/http-service-config.ts'
export type { RequestHead } from './options/request-head.ts'
export type {
	AttemptRequest,
	HookResult,
	OutgoingRequest,
	RequestHooks,
	ValidationResult,
} from './options/request-hooks.ts'
export type { RequestOptions, ResilientRequestInit } from './options/request-options.ts'
export { ResponseTooLargeError } from './request/limit-body.ts'
export { fastifyServerContext } from './server/fastify.ts'
export { fetchServerContext } from './server/fetch-handler.ts'
export { honoServerContext } from './server/hono.ts'
export { expressServerContext, nodeServerContext } from './server/node-handler.ts'
export type {
	ServerContext,
	ServerContextOptions,
	ServerContextRequestOptions,
	ServerMiddlewareOptions,
} from './server/options.ts'
export { deadlineExceededResponse } from './server/responses.ts'
export { createServerContext, getServerContext } from './server/server-context.ts'
export type { RequestBody } from './transport/request-body.ts'
