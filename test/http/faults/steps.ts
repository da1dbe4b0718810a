/**
 * What the server can do with a request within the rules of HTTP: respond, or stop at a chosen point. A step is a
 * value, so that a script is a list and a test can name its own. Delays are promises of the test (`after`), never times.
 */
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Exchange } from './exchange.ts'

export interface Step {
	/** Runs when a connection is accepted and this step is next, before a byte of the request is read. */
	readonly atAccept?: (socket: Socket) => void
	/** Plays with a request whose head has been read. */
	play(exchange: Exchange): unknown
}

/**
 * `accept`: before any byte of the request is read (on a connection kept alive, where that is past, when the next head is read);
 * `request-head`: when the head of the request is read, its body perhaps not;
 * `response-head`: after the head of the response; `body`: after a part of its body.
 */
export type Phase = 'accept' | 'request-head' | 'response-head' | 'body'

export interface Head {
	/** Default 200. */
	readonly status?: number
	readonly headers?: Readonly<Record<string, string>>
}

export interface Answer extends Head {
	readonly body?: string | Uint8Array
	/** Informational heads that go first, such as 102 or 103. */
	readonly informational?: readonly number[]
	/** The response waits until this resolves. */
	readonly after?: Promise<unknown>
	/** Responds when the head of the request has been read, without waiting for its body. Default false. */
	readonly early?: boolean
}

/** Sends the given response. */
export function answer(options: Answer = {}): Step {
	const { status = 200, headers = {}, body = '', informational = [], early = false } = options
	return {
		async play(exchange) {
			if (!early) await exchange.bodyArrived
			for (const code of informational)
				await exchange.sendRaw(`HTTP/1.1 ${code} Wait\r\nx-hint: ${code}\r\n\r\n`)
			await options.after
			if (!exchange.hasLeft) exchange.response.writeHead(status, headers).end(body)
		},
	}
}

export interface Unfinished extends Head {
	/** What is sent of the body in phase `body`. Default 'half of it', of a content-length of 100. */
	readonly body?: string | Uint8Array
	/** The fault occurs when this resolves; what precedes it is sent immediately. */
	readonly after?: Promise<unknown>
}

/** Resets the connection (RST). */
export function reset(phase: Phase, options: Unfinished = {}): Step {
	return leaveOff(phase, options, (socket) => socket.resetAndDestroy())
}

/**
 * Closes the server's half of the connection (FIN). `fin('accept')` is a server that accepts and closes. It ends the socket rather than
 * destroying it: the system turns the close of a socket with unread bytes into a RST.
 */
export function fin(phase: Phase, options: Unfinished = {}): Step {
	return leaveOff(phase, options, (socket) => socket.end())
}

/** Sends nothing more. `hang()` never responds at all. */
export function hang(phase: Phase = 'request-head', options: Unfinished = {}): Step {
	return { play: (exchange) => upTo(phase, options, exchange) }
}

function leaveOff(phase: Phase, options: Unfinished, strike: (socket: Socket) => void): Step {
	return {
		...(phase === 'accept' && options.after === undefined ? { atAccept: strike } : {}),
		async play(exchange) {
			await upTo(phase, options, exchange)
			await options.after
			if (exchange.hasLeft) return
			exchange.finish()
			strike(exchange.socket)
		},
	}
}

async function upTo(phase: Phase, options: Unfinished, exchange: Exchange): Promise<void> {
	const { status = 200, headers = { 'content-length': '100' }, body = 'half of it' } = options
	if (phase === 'accept' || phase === 'request-head') return
	await exchange.bodyArrived
	await exchange.sendHead(status, headers)
	if (phase === 'body') await exchange.send(body)
}

export interface Drip extends Head {
	/** Default 'x'. */
	readonly piece?: string
	/** The time between two pieces. Default one millisecond: the drip is the fault itself, and no test waits for it. */
	readonly pace?: () => Promise<unknown>
	/** Ends the response regularly. Without it the drip ends when the client disconnects. */
	readonly stop?: Promise<unknown>
}

/** Sends the head and then the body in small pieces, endlessly. */
export function drip(options: Drip = {}): Step {
	const { status = 200, headers = {}, piece = 'x' } = options
	return {
		async play(exchange) {
			await exchange.bodyArrived
			await exchange.sendHead(status, headers)
			if (await dripping(options, () => exchange.send(piece))) exchange.response.end()
		},
	}
}

/** Sends until it is stopped (true) or the client has disconnected (false). */
export async function dripping(options: Drip, send: (nth: number) => Promise<boolean>): Promise<boolean> {
	const { pace = aMillisecond, stop = new Promise(() => {}) } = options
	const stopped = stop.then(() => true)
	for (let nth = 1; ; nth++) {
		if (!(await send(nth))) return false
		if (await Promise.race([stopped, pace().then(() => false)])) return true
	}
}

const aMillisecond = () => setTimeout(1, undefined, { ref: false })
