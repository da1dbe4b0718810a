import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { ObservableLayer } from '../../core/engine/policy.ts'
import type { HeaderSource } from '../headers/request-headers.ts'
import type { RequestBody } from './request-body.ts'
import type { HttpResponse, TransportInit } from './transport.ts'

/** Called with the bytes so far, after each chunk and at the end. If it throws, the body ends with its error. */
export type CountBytes = (received: number, isEnd: boolean) => void

/** Returns a function that emits the progress of a download. */
export type ReportProgress = (
	layer: Pick<ObservableLayer, 'emit'>,
	call: Call,
	bound: BoundLayer,
	headers: Headers,
) => CountBytes

/** A request as `resilientFetch`, the client or an adapter prepares it. */
export interface PreparedRequest {
	readonly url: string
	readonly method: string
	readonly headers: HeaderSource
	readonly body: RequestBody
	/** The user that the request belongs to, for the cache. */
	readonly principal?: string | undefined
	/** The headers that the client sets, with the values that are sent, for the cache. */
	readonly clientHeaders?: string | undefined
	/** The rest of the caller's init. */
	readonly init: RequestInit | undefined
	/** The part of `totalTimeoutMs` that has passed before. */
	readonly spentMs?: number
	/** A body beside `body`, such as that of a `Request`. */
	readonly ownBody?: unknown
	/** True if the request contains a body, beside `body`, that can be sent only once. */
	readonly isSingleUse: boolean
	readonly send: (url: string, init: TransportInit) => Promise<HttpResponse>
	/** Follows redirects from this response. If set, requests are sent with `redirect: 'manual'`. */
	readonly follow?:
		| ((response: HttpResponse, url: string, init: TransportInit) => Promise<HttpResponse>)
		| undefined
	/** Set if the client emits the progress of downloads. Not imported here, so that `resilientFetch` does not bundle it. */
	readonly reportProgress?: ReportProgress | undefined
	/** Part of the attempt after the head has arrived, such as storing a copy in the cache. */
	readonly finish?: ((response: HttpResponse) => HttpResponse | Promise<HttpResponse>) | undefined
}
