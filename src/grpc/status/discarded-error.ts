import { YaokiError } from '../../core/errors/errors.ts'

/** Ends an attempt of a hedged call whose response comes from another attempt. It is not a failure of the server. */
export class DiscardedError extends YaokiError {
	constructor() {
		super('YAOKI_CANCELLED', 'another request of this call was answered first')
	}
}
