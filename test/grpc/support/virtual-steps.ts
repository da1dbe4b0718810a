/** What the virtual server does with a request. A step is a function, so tests write their own where these do not fit. */
import type { VirtualStep } from './virtual-request.ts'

interface FailOptions {
	/** After the request was sent. Default 0. */
	readonly afterMs?: number
	/** The value of `grpc-retry-pushback-ms`. */
	readonly pushback?: string
	/** Sends response headers first, so that the response is not trailers-only. */
	readonly hasHeaders?: boolean
}

/** Ends the request with this status code. */
export const fails =
	(code: number, { afterMs = 0, pushback, hasHeaders = false }: FailOptions = {}): VirtualStep =>
	async (request) => {
		await request.wait(afterMs)
		if (hasHeaders) request.sendHeaders()
		request.end(code, { pushback })
	}

/** Responds with a message and OK. */
export const replies =
	({ afterMs = 0 }: Pick<FailOptions, 'afterMs'> = {}): VirtualStep =>
	async (request) => {
		await request.wait(afterMs)
		request.sendHeaders()
		await request.sendMessage({ text: 'reply' })
		request.end(0)
	}

/** Sends response headers, and then nothing. */
export const sendsHeaders =
	({ afterMs = 0 }: Pick<FailOptions, 'afterMs'> = {}): VirtualStep =>
	async (request) => {
		await request.wait(afterMs)
		request.sendHeaders()
	}

/** Never responds, and takes only one message. */
export const stalls = (): VirtualStep => (request) => {
	request.acceptsMore = false
}

/** Never responds. */
export const hangs = (): VirtualStep => () => {}

/** Resets the stream as one that the server has not processed. */
export const refuses = (): VirtualStep => async (request) => {
	await request.wait(0)
	request.refuse()
}

/** The request fails at the load balancing step, or does not leave the client. */
export const NOT_SENT = {
	/** The load balancing policy drops the request. */
	dropped: () => {},
	/** The load balancing policy has no connection. */
	unconnected: () => {},
	/** The connection cannot start a stream. */
	unstarted: () => {},
} satisfies Record<string, VirtualStep>
