/** What a server received, and promises to wait for it. */
import type { IncomingHttpHeaders } from 'node:http'
import { StateWaits } from '../../support/state-waits.ts'

export interface SeenRequest {
	/** Counted from 1, over all connections. */
	readonly n: number
	/** The connection it came on, counted from 1. */
	readonly connection: number
	readonly method: string
	readonly path: string
	readonly headers: IncomingHttpHeaders
	/** As much of the request's body as has arrived. */
	body: string
	/** Bytes that the operating system accepted for this request: head and body in HTTP/1, only the body in HTTP/2. */
	bytesWritten: number
	/** `aborted`: the client disconnected before the step was done. */
	outcome: 'open' | 'done' | 'aborted'
}

export class Ledger extends StateWaits {
	readonly requests: SeenRequest[] = []
	readonly connections: { opened: number; open: number; mostOpen: number } = {
		opened: 0,
		open: 0,
		mostOpen: 0,
	}

	/** The n-th request (from 1), as soon as its head has been read. */
	async requested(n: number): Promise<SeenRequest> {
		await this.until(`request ${n}`, () => this.requests.length >= n)
		return this.#request(n)
	}

	/** Waits until the step of the n-th request is done. */
	async done(n: number): Promise<SeenRequest> {
		await this.until(`the end of request ${n}`, () => this.requests[n - 1]?.outcome === 'done')
		return this.#request(n)
	}

	/** Waits until the client has aborted the n-th request. */
	async aborted(n: number): Promise<SeenRequest> {
		await this.until(`the client's abort of request ${n}`, () => this.requests[n - 1]?.outcome === 'aborted')
		return this.#request(n)
	}

	/** The number of requests that the client aborted. */
	get abortedCount(): number {
		return this.requests.filter(({ outcome }) => outcome === 'aborted').length
	}

	/** Waits until `n` connections have been accepted in all. */
	connected(n: number): Promise<void> {
		return this.until(`connection ${n}`, () => this.connections.opened >= n)
	}

	/**
	 * Waits until no connection is open. A client's pool keeps idle ones (4 s in undici): respond with
	 * `connection: close`, or close the pool first.
	 */
	allClosed(): Promise<void> {
		return this.until('the end of all connections', () => this.connections.open === 0)
	}

	#request(n: number): SeenRequest {
		const request = this.requests[n - 1]
		if (request === undefined) throw new RangeError(`no request ${n}: they are counted from 1`)
		return request
	}

	protected override summary(): string {
		const requests = this.requests.map(({ method, path, outcome }) => `${method} ${path} (${outcome})`)
		return `${this.connections.opened} connections, requests: ${requests.join(', ') || 'none'}`
	}
}
