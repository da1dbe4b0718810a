/**
 * Concurrent equal GETs share one request. Its body is read into memory if several callers wait for it, and
 * each of them gets a response of its own. Clones of the stream were rejected: a caller that does not read
 * its clone would keep the whole body, of any size, in memory. So a large or endless body goes to one caller,
 * and the others send their own requests.
 */
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import { copyRecord } from '../../core/explain/record.ts'
import { inheritCached } from '../cache/cached-response.ts'
import { readWhole } from '../cache/read-body.ts'
import { copyHeaders } from '../headers/request-headers.ts'
import { principalOf } from '../options/request-hooks.ts'
import type { RequestOptions } from '../options/request-options.ts'
import { CallerLink } from '../request/attempt-aborts.ts'
import { attemptBodyOf } from '../request/attempt-body.ts'
import { untilAbort } from '../request/attempt-hooks.ts'
import type { PreparedRequest } from '../transport/request.ts'
import { rebuildResponse } from '../transport/response.ts'
import type { HttpEngine } from './http-engine.ts'

/** Larger bodies are not shared. */
export const MAX_SHARED_BYTES = 1_000_000

interface Flight {
	readonly controller: AbortController
	result: Promise<Landing>
	/** Callers that wait for the response. */
	callers: number
}

interface Landing {
	readonly response: Response
	/** The body, if every caller gets a copy. */
	readonly bytes: Uint8Array<ArrayBuffer> | undefined
	/** True if a caller has received the response itself. */
	isTaken: boolean
}

const NONE: RequestOptions = {}
/** A request of several callers belongs to the context of none. */
const DETACHED: RequestOptions = { parent: {} }

export class SingleFlight {
	/** Requests that were not sent, because an equal one was in flight. */
	shared = 0
	readonly #engine: HttpEngine
	readonly #flights = new Map<string, Flight>()

	constructor(engine: HttpEngine) {
		this.#engine = engine
	}

	/** Sends a GET without options, or waits for an equal one that is in flight. */
	async send(request: PreparedRequest, signal: AbortSignal | undefined): Promise<Response> {
		const context = this.#engine.settings.getContext?.()
		for (const one of [signal, context?.signal]) one?.throwIfAborted()
		context?.deadline?.throwIfExpired()
		const key = this.#keyOf(request)
		const flight = this.#flights.get(key) ?? this.#start(key, request)
		const isFirst = flight.callers++ === 0
		const waiter = new AbortController()
		const signals = [signal, context?.signal].filter((one) => one !== undefined)
		const links = signals.map((one) => new CallerLink(one, waiter))
		const onExpiry = () => waiter.abort(new DeadlineExceededError())
		const stop = context?.deadline?.onExpiry(onExpiry)
		try {
			const landing = await untilAbort(waiter.signal, () => flight.result)
			const { response, bytes, isTaken } = landing
			if (bytes || !isTaken) {
				if (!isFirst) this.shared++
				if (bytes) return inherit(rebuildResponse(bytes, response), response)
				landing.isTaken = true
				for (const one of signals)
					if (response.body) new CallerLink(one, flight.controller).unlinkAfter(response.body)
				return response
			}
		} catch (error) {
			if (--flight.callers === 0) {
				this.#end(key, flight)
				flight.controller.abort(error)
			}
			throw error
		} finally {
			for (const link of links) link.unlink()
			stop?.()
		}
		return (await this.#engine.send(request, NONE, signal)) as Response
	}

	/** All headers are part of the key, because any of them may select another response. */
	#keyOf(request: PreparedRequest): string {
		const headers = new Headers(copyHeaders(request.headers))
		const principal = principalOf(this.#engine.settings.principal, { ...request, headers })
		return JSON.stringify([request.url, principal, [...headers]])
	}

	#start(key: string, request: PreparedRequest): Flight {
		const controller = new AbortController()
		const sent = this.#engine.send(request, DETACHED, controller.signal) as Promise<Response>
		const flight: Flight = {
			controller,
			callers: 0,
			result: sent.then((response) => this.#land(key, flight, response)),
		}
		flight.result.catch(() => {}).finally(() => this.#end(key, flight))
		this.#flights.set(key, flight)
		return flight
	}

	/** The head has arrived. A single caller gets the stream, and later callers send a new request. */
	async #land(key: string, flight: Flight, response: Response): Promise<Landing> {
		if (flight.callers < 2) {
			this.#end(key, flight)
			return { response, bytes: undefined, isTaken: false }
		}
		// Its timeouts apply as if a caller read it by `text()`.
		const body = attemptBodyOf(response)
		body?.onReadStart()
		try {
			const { response: unread, bytes } = await readWhole(response, MAX_SHARED_BYTES)
			if (bytes) body?.onEnd()
			else body?.onHandOver(unread.body)
			return { response: bytes ? response : inherit(unread, response), bytes, isTaken: false }
		} catch (error) {
			throw body ? body.onEnd(error) : error
		}
	}

	#end(key: string, flight: Flight): void {
		if (this.#flights.get(key) === flight) this.#flights.delete(key)
	}
}

/** Lets `explain` and `isCachedResponse` recognize a copy of a response. */
function inherit(copy: Response, response: Response): Response {
	copyRecord(response, copy)
	inheritCached(copy, response)
	return copy
}
