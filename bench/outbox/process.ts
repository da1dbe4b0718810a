/** The process of one contender: executes commands one by one and sends their durations. */
import { setTimeout as pause } from 'node:timers/promises'
import { answering } from './answering.ts'
import type { Answer, Command, Moment } from './child.ts'
import { nanoseconds, type Peer } from './peer.ts'
import { PEERS } from './peers/index.ts'

/** The interval between messages when latency is measured: 100 per second. */
const EVERY_MS = 10

/** Timeout for handling all messages. */
const PATIENCE_MS = 120_000

const [, , name = '', url = ''] = process.argv
const open = PEERS[name]
if (!open) throw new Error(`unknown contender '${name}'`)

let handledAt: Moment[] = []
let stopListening: (() => Promise<void>) | undefined

async function timed(work: () => Promise<unknown>): Promise<Answer> {
	const startedAt = nanoseconds()
	await work()
	return { nanoseconds: nanoseconds() - startedAt }
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
	const giveUpAt = nanoseconds() + PATIENCE_MS * 1e6
	while (!(await isSo())) {
		if (nanoseconds() > giveUpAt) throw new Error(`${name}: ${what}`)
		await pause(1)
	}
}

/** Measures the time from the start until everything is handled and acked. */
async function drain(peer: Peer, count: number): Promise<Answer> {
	let handled = 0
	let finish = () => {}
	const all = new Promise<void>((resolve) => {
		finish = resolve
	})
	const waiting = new AbortController()
	const tooLate = pause(PATIENCE_MS, undefined, { signal: waiting.signal }).then(() => {
		throw new Error(`${name}: ${handled} of ${count} were handled`)
	})
	let stop = async () => {}
	const answer = await timed(async () => {
		const working = peer.work(() => {
			if (++handled === count) finish()
		}, 'drain')
		// A failed start rejects immediately; a started worker runs until it is stopped.
		await Promise.race([all, tooLate, working.then(() => all)])
		await until(() => peer.isEmpty(), 'all messages were handled, but the queue is not empty')
		stop = await working
	})
	waiting.abort()
	await stop()
	if (handled !== count) throw new Error(`${name}: ${handled} were handled of ${count}`)
	return answer
}

/** Sends each message at its scheduled time, whether or not the previous one is committed. */
async function send(peer: Peer, count: number): Promise<Answer> {
	const startedAt = performance.now()
	const sent: Promise<Moment>[] = []
	for (let seq = 0; seq < count; seq++) {
		const early = startedAt + seq * EVERY_MS - performance.now()
		if (early > 0) await pause(early)
		sent.push(peer.send(seq).then((at): Moment => [seq, at]))
	}
	return { nanoseconds: 0, moments: await Promise.all(sent) }
}

async function obey(peer: Peer, { call, count }: Command): Promise<Answer> {
	switch (call) {
		case 'tidy':
			return timed(() => peer.tidy())
		case 'fill': {
			const answer = await timed(() => peer.fill(count))
			await peer.vacuum()
			return answer
		}
		case 'enqueueEach':
			return timed(() => peer.enqueueEach(count))
		case 'drain':
			return drain(peer, count)
		case 'listen':
			handledAt = []
			return timed(async () => {
				stopListening = await peer.work((seq) => handledAt.push([seq, nanoseconds()]), 'latency')
			})
		case 'send':
			return send(peer, count)
		case 'handledAt':
			await until(() => handledAt.length >= count, `${handledAt.length} of ${count} were handled`)
			await stopListening?.()
			return { nanoseconds: 0, moments: handledAt }
		case 'close':
			return timed(() => peer.close())
	}
}

const peer = await open(url)
answering((command) => obey(peer, command))
