/**
 * The part of axios that the adapter uses, as structural types: the package never imports axios. The types of
 * config and response are inferred from the given module, so that the adapter fits that version of axios.
 */
import type { RequestOptions } from '../../options/request-options.ts'

/** Request headers: axios' own class. */
interface AxiosHeaderList {
	concat(): AxiosHeaderList
	set(name: string, value: string, rewrite: boolean): unknown
	// Early versions declare no more than an object.
	toJSON(asStrings: true): object
}

/** The config that an adapter receives, after interceptors and `transformRequest`. */
export interface AxiosConfig {
	readonly url?: string | undefined
	readonly baseURL?: string | undefined
	readonly allowAbsoluteUrls?: boolean | undefined
	readonly socketPath?: string | null | undefined
	readonly method?: string | undefined
	readonly headers: AxiosHeaderList
	readonly data?: unknown
	readonly timeout?: number | undefined
	readonly timeoutErrorMessage?: string | undefined
	readonly transitional?: { readonly clarifyTimeoutError?: boolean | undefined } | undefined
	readonly validateStatus?: ((status: number) => boolean) | null | undefined
	readonly signal?: AxiosSignal | undefined
	readonly cancelToken?: AxiosCancelToken | undefined
	// A method, because the types of its parameters depend on the version.
	beforeRedirect?(options: RedirectOptions, ...details: unknown[]): void
	/** Options of this request. */
	readonly yaoki?: RequestOptions | undefined
}

/** The request that axios over `node:http` is about to send after a redirect. */
export interface RedirectOptions {
	readonly href?: unknown
	readonly method?: unknown
	readonly headers?: object
}

/** An `AbortSignal` or a polyfill of it. */
interface AxiosSignal {
	readonly aborted: boolean
	addEventListener?(type: 'abort', listener: () => void): void
	removeEventListener?(type: 'abort', listener: () => void): void
}

/** axios' own cancellation, older than signals. */
interface AxiosCancelToken {
	readonly reason?: unknown
	// Missing in the types of early versions.
	subscribe?(listener: (reason: unknown) => void): void
	unsubscribe?(listener: (reason: unknown) => void): void
}

/** The response of an adapter. */
export interface AxiosResponse {
	data: unknown
	status: number
	statusText: string
	headers: object
	config: object
	request?: unknown
}

/** Sends one request. */
export type Adapter<Config, Result> = (config: Config) => Promise<Result>

/** Any adapter. Its types are not checked against the given axios: the options would become complicated. */
type AnyAdapter = Adapter<never, AxiosResponse>

/** The name of an adapter, an adapter, or a list of which the first available one is used. */
export type AdapterChoice = string | AnyAdapter | (string | AnyAdapter)[]

/** Builds URLs as axios does. */
export interface UrlBuilder {
	getUri(config: object): string
}

/** The axios module: `import axios from 'axios'`. An instance does not have all of this. */
export interface AxiosModule<Config, Result> {
	readonly defaults: { readonly adapter?: AdapterChoice | undefined }
	readonly Axios: new (defaults: object) => UrlBuilder
	readonly AxiosError: new (
		message?: string,
		code?: string,
		config?: NoInfer<Config>,
		request?: unknown,
		response?: NoInfer<Result>,
	) => Error
	// The types of further parameters depend on the version.
	readonly CanceledError: new (
		message?: string,
	) => Error
	getAdapter(choice: AdapterChoice | undefined, config?: NoInfer<Config>): Adapter<Config, Result>
}

/** An AxiosError. */
export interface AxiosFailure<Config, Result> extends Error {
	readonly code?: string
	config?: Config
	readonly request?: unknown
	readonly response?: Result
}

/** Checks the marker, as axios itself does: there may be two copies of axios. */
export const isAxiosFailure = <Config, Result>(error: unknown): error is AxiosFailure<Config, Result> =>
	error instanceof Error && 'isAxiosError' in error && error.isAxiosError === true
