/**
 * The cost of a rejection by an open circuit. Every caller catches the error and reads its message and `retryAfterMs`, so
 * that a message created on first read is measured too. The stack is not read: V8 captures the frames when the error is
 * created, which is measured, and formats them on first read, which costs the same for every contender.
 */
import { ConsecutiveBreaker, circuitBreaker as cockatielCircuitBreaker, handleAll } from 'cockatiel'
import Opossum from 'opossum'
import { circuitBreaker } from 'yaoki'
import { type Report, times } from './figure.ts'
import { type Contender, catching, line, race, ratioOf } from './harness.ts'
import { mollitiaBreaker, underMollitia } from './mollitia.ts'

const HOUR = 3_600_000
const reused = new Error('down')
const down = () => Promise.reject(reused)

/** What the callers have read, so that the compiler cannot remove it as unused. */
let read = 0

const rejecting = (name: string, call: () => Promise<unknown>): Contender =>
	catching(name, call, (error) => {
		if (error instanceof Error) read += error.message.length
		if (error instanceof Object && 'retryAfterMs' in error) read += Number(error.retryAfterMs)
	})

/** Opens the breaker by failures: a breaker that is forced open has no `retryAfterMs`. */
async function opened(call: () => Promise<unknown>): Promise<() => Promise<unknown>> {
	for (let i = 0; i < 10; i++) await call().catch(() => {})
	if ((await call().catch((error: unknown) => error)) === reused)
		throw new Error('a breaker that should be open let a call through')
	return call
}

export async function openCircuit(): Promise<Report> {
	const breaker = circuitBreaker({ failureThreshold: 5, resetTimeoutMs: HOUR })
	const cockatiel = cockatielCircuitBreaker(handleAll, {
		breaker: new ConsecutiveBreaker(5),
		halfOpenAfter: HOUR,
	})
	const opossum = new Opossum(down, { resetTimeout: HOUR })
	const mollitia = underMollitia(mollitiaBreaker())
	const yaoki = await opened(() => breaker.execute(down))
	const rows = await race(
		[
			rejecting('one reused error', down),
			rejecting('a new Error each', () => Promise.reject(new Error('the circuit is open'))),
			rejecting('yaoki', yaoki),
			rejecting('cockatiel 4', await opened(() => cockatiel.execute(down))),
			rejecting('opossum 10', await opened(() => opossum.fire())),
			rejecting('mollitia 0.1', await opened(() => mollitia(down))),
		],
		{ rounds: 25, count: 20_000 },
	)
	opossum.shutdown()
	if (read === 0) throw new Error('no call was rejected')

	const ours = ratioOf(rows, 'yaoki')
	const stack = await stackOf(yaoki)
	const figure = 'a rejection by an open circuit'
	return {
		title: 'A rejection by an open circuit, its message and retryAfterMs read',
		lines: rows.map(line),
		figures: [
			...['cockatiel 4', 'opossum 10', 'mollitia 0.1'].map((name) => ({
				figure,
				asked: `not more than ${name} (${times(ratioOf(rows, name))})`,
				measured: times(ours),
				reached: ours <= ratioOf(rows, name),
			})),
			{
				figure,
				asked: 'a stack that leads to the caller',
				measured: stack.includes(stackOf.name) ? 'it does' : stack,
				reached: stack.includes(stackOf.name),
			},
		],
		data: rows,
	}
}

async function stackOf(call: () => Promise<unknown>): Promise<string> {
	try {
		await call()
	} catch (error) {
		if (error instanceof Error) return error.stack ?? ''
	}
	return ''
}
