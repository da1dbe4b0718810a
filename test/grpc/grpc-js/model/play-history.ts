/** Plays a history in virtual time, and returns what was wrong. */
import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { expect } from 'vitest'
import { retryBudget } from 'yaoki'
import { type GrpcEvent, parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'
import type { FakeCall } from '../../support/fake-call.ts'
import { type FakeCaller, FakeClient } from '../../support/fake-caller.ts'
import { type CallScript, END_MS, type History, history, INVALID, type RequestScript } from './histories.ts'

function configOf({ policy, maxAttempts, delayMs, throttling }: History): ServiceConfig {
	const delay = `${delayMs / 1_000}s`
	const codes = ['UNAVAILABLE', 'CANCELLED', 'DEADLINE_EXCEEDED']
	const policies = {
		none: {},
		retry: {
			retryPolicy: {
				maxAttempts,
				initialBackoff: delay,
				maxBackoff: '0.02s',
				backoffMultiplier: 2,
				retryableStatusCodes: codes,
			},
		},
		hedging: { hedgingPolicy: { maxAttempts, hedgingDelay: delay, nonFatalStatusCodes: codes } },
	}
	return parseServiceConfig({
		methodConfig: [{ name: [{}], ...policies[policy] }],
		...(throttling && { retryThrottling: throttling }),
	})
}

/** Plays random histories. */
export const checkHistories = (numRuns: number): Promise<void> =>
	fc.assert(
		fc.asyncProperty(history, async (given) => {
			expect(await playHistory(given)).toEqual([])
		}),
		{ numRuns },
	)

/** Returns what breaks the rules; nothing, if all is well. */
async function playHistory(given: History): Promise<string[]> {
	const wrong: string[] = []
	const events: GrpcEvent[] = []
	const signals: AbortSignal[] = []
	let signal: AbortSignal | undefined
	const { seed, isObserved } = given
	const client = new FakeClient({
		seed,
		isObserved,
		serviceConfig: configOf(given),
		circuitBreaker: { failureThreshold: 4, resetTimeoutMs: 10 },
		bulkhead: { maxConcurrent: given.maxConcurrent, maxQueue: given.maxQueue },
		...(given.hasBudget && { budget: retryBudget() }),
		maxBufferBytesPerCall: given.maxBufferBytesPerCall,
		maxBufferBytes: given.maxBufferBytes,
		getContext: () => (signal ? { signal } : undefined),
	})
	const { clock, interceptor } = client
	const callers: PlayedCall[] = []
	interceptor.subscribe((event) => {
		events.push(event)
		for (const played of callers) played.onEvent(event)
	})
	const at = (ms: number, fn: () => void) => {
		if (ms <= END_MS) clock.setTimer(ms, fn)
	}
	for (const script of given.calls)
		at(script.startMs, () => {
			const controller = new AbortController()
			signals.push(controller.signal)
			signal = controller.signal
			const played = new PlayedCall(client, script, given, wrong)
			signal = undefined
			callers.push(played)
			if (script.abortMs !== undefined) at(script.abortMs, () => controller.abort())
			played.schedule(at)
		})
	if (given.isSynchronous)
		for (let ms = 0; ms <= END_MS; ms++) while (clock.runTimers(ms === 0 ? 0 : 1) > 0) await clock.advance(0)
	else await clock.advance(END_MS)
	for (const { caller } of callers) caller.cancel()
	await clock.runUntilIdle()
	for (const played of callers) played.check()
	const calls = events.filter(({ type }) => type === 'call')
	if (calls.length !== callers.length) wrong.push(`${calls.length} call events of ${callers.length} calls`)
	for (const event of events) checkEvent(event, wrong)
	const { bufferedBytes, bulkhead, throttling, calls: count } = interceptor.stats
	if (bufferedBytes !== 0) wrong.push(`${bufferedBytes} bytes are buffered`)
	if (bulkhead?.concurrent || bulkhead?.queued) wrong.push(`bulkhead: ${JSON.stringify(bulkhead)}`)
	if (count !== callers.length) wrong.push(`${count} calls are counted`)
	const { tokens = 0 } = throttling ?? {}
	if (tokens < 0 || tokens > (given.throttling?.maxTokens ?? 0)) wrong.push(`${tokens} tokens`)
	for (const { length } of signals.map((each) => getEventListeners(each, 'abort')))
		if (length > 0) wrong.push(`${length} listeners are left on a signal`)
	return wrong
}

function checkEvent(event: GrpcEvent, wrong: string[]): void {
	const { type, grpcService, method, grpcStatus, callId, attempt } = event
	if (type === 'state_change' && callId === undefined) return
	if (grpcService !== 'yaoki.test.Users' || method !== 'Chat')
		wrong.push(`${type} of ${grpcService}/${method}`)
	if (!callId || !attempt) wrong.push(`${type} without callId or attempt`)
	const hasEnded =
		type === 'call' || type === 'failure' || type === 'retry_attempt' || type === 'retry_failure'
	if (hasEnded && grpcStatus === undefined) wrong.push(`${type} without grpcStatus`)
	if (type === 'call' && event.outcome === 'success' && grpcStatus !== 'OK')
		wrong.push(`success with ${grpcStatus}`)
}

/** One function for all calls, as in generated code. */
function serialize(message: unknown): Uint8Array {
	if (message === 'invalid') throw new TypeError('invalid message')
	return new TextEncoder().encode(String(message))
}

/** What a cancelled call may report: the caller, the request around, the server. */
const CANCELLED_DETAILS = ['Cancelled on client', 'the call around was cancelled', 'the test ends the call']

class PlayedCall {
	readonly caller: FakeCaller
	readonly #script: CallScript
	readonly #history: History
	readonly #wrong: string[]
	#sent: string[] = []
	#isHalfClosed = false

	constructor(client: FakeClient, script: CallScript, history: History, wrong: string[]) {
		this.#script = script
		this.#history = history
		this.#wrong = wrong
		const { requests, isUnary, deadlineMs } = script
		this.caller = client.create({
			serialize,
			requestStream: !isUnary,
			responseStream: !isUnary,
			...(deadlineMs !== undefined && { deadline: client.clock.wallNow() + deadlineMs }),
			onAttempt: (attempt, number) => {
				const request = requests[Math.min(number, requests.length) - 1]
				if (request) this.#play(client, attempt, number, request)
			},
		})
		this.caller.start()
		if (isUnary) {
			this.#send(script.messages[0]?.bytes ?? 10)
			this.#halfClose()
		} else this.caller.call.startRead()
	}

	/** Times before the start of the call mean immediately. */
	schedule(at: (ms: number, fn: () => void) => void): void {
		const { startMs, isUnary, messages, halfCloseMs, cancelMs } = this.#script
		const later = (ms: number, fn: () => void) => at(Math.max(0, ms - startMs), fn)
		if (!isUnary) {
			for (const { atMs, bytes } of messages) later(atMs, () => this.#send(bytes))
			if (halfCloseMs !== undefined) later(halfCloseMs, () => this.#halfClose())
		}
		if (cancelMs !== undefined) later(cancelMs, () => this.caller.cancel())
	}

	onEvent({ type }: GrpcEvent): void {
		if (type === this.#script.cancelOn) this.caller.cancel()
	}

	#send(bytes: number): void {
		if (this.#isHalfClosed) return
		const message = bytes === INVALID ? 'invalid' : `${this.#sent.length}`.padEnd(bytes, '.')
		this.#sent.push(message)
		this.caller.send(message)
	}

	#halfClose(): void {
		if (this.#isHalfClosed) return
		this.#isHalfClosed = true
		this.caller.halfClose()
	}

	#play({ clock }: FakeClient, attempt: FakeCall, number: number, request: RequestScript): void {
		attempt.isSlow = request.isSlow
		attempt.endAfterCancel = request.endAfterCancel
		if (request.endsInStart) {
			const start = attempt.start.bind(attempt)
			attempt.start = (...args) => {
				start(...args)
				attempt.end(14)
			}
			return
		}
		let ms = 0
		for (const action of request.actions) {
			ms += action.afterMs
			clock.setTimer(ms, () => {
				if (!attempt.isStarted || attempt.isEnded) return
				if (action.type === 'acknowledge') attempt.acknowledge()
				if (attempt.cancels > 0 && !request.isLate) return
				this.#checkSent(attempt, number)
				if (action.type === 'headers') attempt.sendHeaders({ 'x-from': String(number) })
				if (action.type === 'message') attempt.sendResponse(`from ${number}`)
				if (action.type === 'end') attempt.end(action.code, { pushback: action.pushback })
			})
		}
	}

	/** A request that acknowledges messages immediately has all of them. */
	#checkSent(attempt: FakeCall, number: number): void {
		if (attempt.isSlow || attempt.cancels > 0 || this.caller.status || this.#history.isSynchronous) return
		if (this.#sent.includes('invalid')) return
		if (attempt.messages.length !== this.#sent.length)
			this.#wrong.push(`attempt ${number} has ${attempt.messages.length} of ${this.#sent.length} messages`)
		if (attempt.isHalfClosed !== this.#isHalfClosed) this.#wrong.push(`attempt ${number} is not half-closed`)
	}

	check(): void {
		const { caller } = this
		const { attempts, events, statuses, acknowledged, violations } = caller
		const { policy, maxAttempts } = this.#history
		const wrong = (text: string) => this.#wrong.push(`${text}: ${JSON.stringify(events)}`)
		if (statuses.length !== 1) wrong(`${statuses.length} statuses`)
		if (!events.at(-1)?.startsWith('status')) wrong('events after the status')
		if (new Set(events.flatMap((text) => /from"?:?"? ?(\d)/.exec(text)?.[1] ?? [])).size > 1)
			wrong('responses of several attempts')
		if (attempts.length > (policy === 'none' ? 1 : maxAttempts)) wrong(`${attempts.length} attempts`)
		const { code, details = '' } = statuses[0] ?? {}
		if (code === 1 && !CANCELLED_DETAILS.includes(details)) wrong(details)
		if (violations.length > 0) wrong(violations.join(', '))
		if (acknowledged.some((times) => times !== 1)) wrong(`acknowledged ${acknowledged.join()}`)
		attempts.forEach((attempt, index) => {
			if (attempt.isStarted && !attempt.isEnded) wrong(`attempt ${index + 1} has not ended`)
			if (attempt.messages.some((message, n) => message !== this.#sent[n]))
				wrong(`attempt ${index + 1} has other messages`)
			if (attempt.isStarted && attempt.previousAttempts !== (index === 0 ? undefined : String(index)))
				wrong(`attempt ${index + 1} follows ${attempt.previousAttempts}`)
		})
	}
}
