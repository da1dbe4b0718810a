/** One pipeline for all calls of one service: created once, used everywhere, with one place for events. */
import { HttpError, permanent, pipeline, retry } from 'yaoki'

const stock = new Map([['tea', 2]])
let isBusy = true

async function buy(item: string, count: number): Promise<string> {
	// The first attempt gets a 503, which a retry solves. Missing stock is permanent.
	if (isBusy) {
		isBusy = false
		throw new HttpError(503)
	}
	const left = (stock.get(item) ?? 0) - count
	if (left < 0) throw permanent(new Error(`not enough ${item}`))
	stock.set(item, left)
	return `${count} ${item}`
}

const shop = pipeline({ name: 'shop' }, retry({ maxRetries: 3, baseDelayMs: 1 }))
shop.subscribe((event) => console.log(`event: ${event.type} ${'stop' in event ? event.stop : ''}`.trimEnd()))

// A function with the signature of `buy`.
const buySafely = shop.wrap(buy)
console.log(`bought ${await buySafely('tea', 2)}`)

// A result instead of a thrown error.
const result = await shop.settle(() => buy('tea', 1))
console.log(result.ok ? `bought ${result.value}` : `failed: ${result.error}`)
