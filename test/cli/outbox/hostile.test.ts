/** Texts of messages, destinations, relays and operators come from anywhere; no command may print what a terminal would act on. */
import { beforeEach, describe, expect, test } from 'vitest'
import { beat, claim, killMessages } from './fixtures.ts'
import { type RunResult, run, start } from './run-yaoki.ts'
import { testOutbox } from './test-outbox.ts'

/** Escape sequences of C0 and C1, DEL, all controls of the writing direction, line separators, and a line of its own. */
const HOSTILE =
	'a\x1b[2J\x9b31m\x07\x7f\x85\u061C\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069\u2028\u2029\r\nok fake line'

const ACTED_ON = /[^\n\P{Cc}]|[\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

const env = testOutbox()

let dead = ''
let pending = ''
let claimed = ''

beforeEach(async () => {
	const { outbox } = env
	const message = { topic: HOSTILE, destination: HOSTILE, key: HOSTILE, payload: { [HOSTILE]: HOSTILE } }
	const headers = { 'x-hostile': 'a\x9b31m\u202Eb' }
	const enqueue = async () => (await outbox.enqueue({ ...message, headers }, { withoutTransaction: true })).id
	dead = await enqueue()
	await killMessages(outbox.store, HOSTILE, Object.assign(new Error(HOSTILE), { name: HOSTILE }))
	claimed = await enqueue()
	await claim(outbox.store, HOSTILE, HOSTILE)
	pending = await enqueue()
	await beat(outbox.store, { id: HOSTILE, host: HOSTILE, destinations: [HOSTILE] })
	await outbox.pause(HOSTILE, { by: HOSTILE, reason: HOSTILE })
})

const commands: Readonly<Record<string, () => readonly string[]>> = {
	status: () => ['status'],
	list: () => ['list'],
	'list --groups': () => ['list', '--groups'],
	'list of a filter': () => ['list', '--destination', HOSTILE, '--topic', HOSTILE, '--key', HOSTILE],
	'show a dead letter': () => ['show', dead],
	'show a claimed message': () => ['show', claimed],
	'why of a dead letter': () => ['why', dead],
	'why of a claimed message': () => ['why', claimed],
	'why of a pending message': () => ['why', pending],
	check: () => ['check'],
	pause: () => ['pause', HOSTILE, '--by', HOSTILE, '--reason', HOSTILE],
	'pause of an unknown destination': () => ['pause', `${HOSTILE}2`],
	resume: () => ['resume', HOSTILE],
	'resume without a pause': () => ['resume', `${HOSTILE}2`],
	audit: () => ['audit'],
	retry: () => ['retry', '--destination', HOSTILE, '--close-circuit'],
	'replay with a canary': () => ['replay', '--destination', HOSTILE, '--canary', '--timeout', '1ms'],
	replay: () => ['replay', dead],
	expire: () => ['expire', '--destination', HOSTILE],
	resend: () => ['resend', HOSTILE, '--by', HOSTILE],
	discard: () => ['discard', '--destination', HOSTILE, '--yes'],
	'discard without --yes': () => ['discard', '--destination', HOSTILE],
	'an unknown id': () => ['show', HOSTILE],
	'an unknown option': () => ['status', `--${HOSTILE}`],
	'an invalid value': () => ['list', '--status', HOSTILE],
	'an unexpected argument': () => ['status', HOSTILE],
	'an unknown command': () => [HOSTILE],
	'an invalid time': () => ['list', '--since', HOSTILE],
}

const expectHarmless = ({ stdout, stderr }: RunResult) => {
	expect(ACTED_ON.exec(stdout)).toBeNull()
	expect(ACTED_ON.exec(stderr)).toBeNull()
	expect(stdout).not.toMatch(/^ok fake line/m)
}

describe.each(Object.entries(commands))('%s', (_, args) => {
	test('prints no character that a terminal acts on', async () => {
		expectHarmless(await run(['outbox', ...args(), '--database', env.file]))
	})

	test('prints valid JSON without such characters', async () => {
		const ran = await run(['outbox', ...args(), '--database', env.file, '--json'])
		expectHarmless(ran)
		if (ran.stdout !== '') expect(() => JSON.parse(ran.stdout)).not.toThrow()
	})
})

test('--json keeps the texts: escapes stand for the same characters', async () => {
	const { data } = await env.json(`show ${dead}`)
	expect(data).toMatchObject({ topic: HOSTILE, key: HOSTILE, payload: { [HOSTILE]: HOSTILE } })
	const { data: records } = await env.json('audit')
	expect(records).toMatchObject([{ by: HOSTILE, reason: HOSTILE, destination: HOSTILE }])
})

test('a relay prints no character that a terminal acts on', async () => {
	await env.outbox.resume(HOSTILE)
	// Nothing listens on this port, so that the failure is printed.
	const args = ['relay', '--to', 'http://127.0.0.1:1/', '--destination', HOSTILE, '--database', env.file]
	const relay = start(args)
	const attempts = async () => (await env.outbox.find(pending))?.attempts
	await expect.poll(attempts, { timeout: 20_000 }).toBeGreaterThan(0)
	relay.interrupt()
	expectHarmless(await relay.ended)
})
