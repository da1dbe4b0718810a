/**
 * What the server may do with a request while it still keeps to the rules of HTTP: answer, or leave off at a chosen point. A step is a
 * value, so that a script is a list and a test can name its own. Delays are promises of the test (`after`), never times.
 */
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Exchange } from './exchange.ts'

export interface Step {
	/** Strikes when a connection is accepted and this step is next, before a byte of the request is read. */
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
	/** The answer is held back until this resolves. */
	readonly after?: Promise<unknown>
	/** Answers when the head of the request is read, without waiting for its body. Default false. */
	readonly early?: boolean
}

/** Answers as asked. */
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
	/** Strikes when this resolves; what goes before is sent at once. */
	readonly after?: Promise<unknown>
}

/** Breaks the connection off with a RST. */
export function reset(phase: Phase, options: Unfinished = {}): Step {
	return leaveOff(phase, options, (socket) => socket.resetAndDestroy())
}

/**
 * Closes the server's half in good form (FIN). `fin('accept')` is a server that accepts and closes. It ends the socket rather than
 * destroying it: the system turns the close of a socket with unread bytes into a RST.
 */
export function fin(phase: Phase, options: Unfinished = {}): Step {
	return leaveOff(phase, options, (socket) => socket.end())
}

/** Says nothing more, for good. `hang()` never answers at all. */
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
	/** What goes by between two pieces. Default a millisecond: the drip is the fault itself, and nothing in a test waits for it. */
	readonly pace?: () => Promise<unknown>
	/** Ends the answer in good form. Without it the drip ends with the client. */
	readonly stop?: Promise<unknown>
}

/** Sends the head and then the body in small pieces, without end. */
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

/** Sends until it is stopped (true) or the client has left (false). */
export async function dripping(options: Drip, send: (nth: number) => Promise<boolean>): Promise<boolean> {
	const { pace = aMillisecond, stop = new Promise(() => {}) } = options
	const stopped = stop.then(() => true)
	for (let nth = 1; ; nth++) {
		if (!(await send(nth))) return false
		if (await Promise.race([stopped, pace().then(() => false)])) return true
	}
}

const aMillisecond = () => setTimeout(1, undefined, { ref: false })
