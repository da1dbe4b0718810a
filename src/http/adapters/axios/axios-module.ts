/**
 * The part of axios that the adapter needs, by its shape. axios is never imported, so that who does not use it need not install
 * it; and the types of the config and of the response are taken from the module that is given, so that what is made of it fits
 * wherever that axios wants an adapter.
 */
import type { RequestOptions } from '../../options/request-options.ts'

/** The headers of a request: axios' own class. */
interface AxiosHeaderList {
	concat(): AxiosHeaderList
	set(name: string, value: string, rewrite: boolean): unknown
	// Early versions promise no more than an object.
	toJSON(asStrings: true): object
}

/** What axios gives its adapters, once interceptors and `transformRequest` have run. */
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
	/** What belongs to this request alone. */
	readonly yaoki?: RequestOptions | undefined
}

/** An `AbortSignal`, or what a polyfill has in its place. */
interface AxiosSignal {
	readonly aborted: boolean
	addEventListener?(type: 'abort', listener: () => void): void
	removeEventListener?(type: 'abort', listener: () => void): void
}

/** axios' own way to cancel, from before there were signals. */
interface AxiosCancelToken {
	readonly reason?: unknown
	// In the types of early versions they are missing.
	subscribe?(listener: (reason: unknown) => void): void
	unsubscribe?(listener: (reason: unknown) => void): void
}

/** What axios' adapters answer with. */
export interface AxiosResponse {
	data: unknown
	status: number
	statusText: string
	headers: object
	config: object
	request?: unknown
}

/** Sends one request. */
export type Adapter<Config, Answer> = (config: Config) => Promise<Answer>

/** Any adapter. That it is one of this axios is not checked: its options would need types that nobody wants to write. */
type AnyAdapter = Adapter<never, AxiosResponse>

/** The name of an adapter, an adapter, or several of which the first that works here is taken. */
export type AdapterChoice = string | AnyAdapter | (string | AnyAdapter)[]

/** Puts addresses together as axios does. */
export interface UrlBuilder {
	getUri(config: object): string
}

/** axios itself: `import axios from 'axios'`. An instance of it does not have all of this. */
export interface AxiosModule<Config, Answer> {
	readonly defaults: { readonly adapter?: AdapterChoice | undefined }
	readonly Axios: new (defaults: object) => UrlBuilder
	readonly AxiosError: new (
		message?: string,
		code?: string,
		config?: NoInfer<Config>,
		request?: unknown,
		response?: NoInfer<Answer>,
	) => Error
	// What else it takes depends on the version, as far as the types go.
	readonly CanceledError: new (
		message?: string,
	) => Error
	getAdapter(choice: AdapterChoice | undefined, config?: NoInfer<Config>): Adapter<Config, Answer>
}

/** What an AxiosError has. */
export interface AxiosFailure<Config, Answer> extends Error {
	readonly code?: string
	config?: Config
	readonly request?: unknown
	readonly response?: Answer
}

/** By its mark, as axios itself does: there may be two copies of axios. */
export const isAxiosFailure = <Config, Answer>(error: unknown): error is AxiosFailure<Config, Answer> =>
	error instanceof Error && 'isAxiosError' in error && error.isAxiosError === true
