/** A process of its own for one contender. It does one thing after the other, as it is told, and answers what that took. */
import { setTimeout as pause } from 'node:timers/promises'
import { answering } from './answering.ts'
import type { Answer, Command, Moment } from './child.ts'
import { nanoseconds, type Peer } from './peer.ts'
import { PEERS } from './peers/index.ts'

/** How often a message is sent when latency is measured: 100 a second. */
const EVERY_MS = 10

/** Who has not handled everything by then never will. */
const PATIENCE_MS = 120_000

const [, , name = '', url = ''] = process.argv
const open = PEERS[name]
if (!open) throw new Error(`there is no contender '${name}'`)

let heard: Moment[] = []
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

/** From when work begins until everything is handled and written down as done. */
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
		// Who fails to start is heard of at once; who has started goes on.
		await Promise.race([all, tooLate, working.then(() => all)])
		await until(() => peer.isEmpty(), 'all were handled, and the queue is not empty')
		stop = await working
	})
	waiting.abort()
	await stop()
	if (handled !== count) throw new Error(`${name}: ${handled} were handled of ${count}`)
	return answer
}

/** Each at its time, whether the one before is committed or not. */
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
			heard = []
			return timed(async () => {
				stopListening = await peer.work((seq) => heard.push([seq, nanoseconds()]), 'latency')
			})
		case 'send':
			return send(peer, count)
		case 'heard':
			await until(() => heard.length >= count, `${heard.length} of ${count} were handled`)
			await stopListening?.()
			return { nanoseconds: 0, moments: heard }
		case 'close':
			return timed(() => peer.close())
	}
}

const peer = await open(url)
answering((command) => obey(peer, command))
