import { StateWaits } from '../../support/state-waits.ts'

/** The calls that a test server has seen, and promises for their states. */
export class RecordedCalls<Seen extends { readonly isCancelled: boolean }> extends StateWaits {
	/** The calls since the start or the last `play`, in the order of arrival. */
	calls: Seen[] = []

	/** The n-th call, from 1, as soon as its handler runs. */
	async called(n: number): Promise<Seen> {
		await this.until(`call ${n}`, () => this.calls.length >= n)
		const call = this.calls[n - 1]
		if (!call) throw new RangeError(`no call ${n}: they are counted from 1`)
		return call
	}

	/** Waits until the n-th call is cancelled. */
	async cancelled(n: number): Promise<Seen> {
		const call = await this.called(n)
		await this.until(`the end of call ${n} by the client`, () => call.isCancelled)
		return call
	}
}
