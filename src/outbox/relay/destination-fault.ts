/**
 * Finds permanent failures that concern the destination and not the message. A dead letter would be wrong there: after an expired certificate, every
 * message of the destination would become one within seconds.
 */
import type { Classification } from '../../core/classify/classification.ts'
import { readSignals } from '../../core/classify/error-signals.ts'
import { isMarkedPermanent } from '../../core/classify/permanent.ts'
import type { Settlement } from '../store/rows.ts'
import { ownVerdict } from './failure-decision.ts'
import type { DestinationSettings } from './options.ts'

/** `rejected`: a permanent failure that may concern the message or the destination. Only several different messages show which. */
export type DestinationFault = 'certificate' | 'credentials' | 'rejected'

/** A response, whatever its error code is named. */
const STATUS = /^http /m
const CREDENTIALS = /^(http 40[13]|grpc (7|16)|code (\w+\/)?(unauthenticated|permission.denied))$/im
const CERTIFICATE =
	/(^|_)(cert(ificate)?|crl)(_|$)|leaf_signature$|^invalid_(ca|purpose)$|^hostname_mismatch$|(self.signed|first|peer|issuer) cert|certificate('s)? (has exp|altn)/im
/** The handshake failed for another reason, such as a protocol version. The classifier calls it transient. */
const HANDSHAKE = /^(err_ssl_\w+|eproto)$/im

/**
 * Returns what is wrong with the destination. Undefined if the failure is temporary, or if `isFailure` says that it is not the destination's. `settlement`
 * is what would happen to the message.
 */
export function findDestinationFault(
	settings: DestinationSettings,
	error: unknown,
	{ kind }: Classification,
	settlement: Settlement,
): DestinationFault | undefined {
	const isPermanent = settlement.type === 'dead' && settlement.cause === 'permanent'
	if (!isPermanent && kind !== 'transient') return undefined
	if (ownVerdict(settings, error) === false) return undefined
	const text = readText(error)
	const hasStatus = STATUS.test(text)
	if (!isPermanent) return !hasStatus && HANDSHAKE.test(text) ? 'certificate' : undefined
	// User code says that the message is wrong.
	if (isMarkedPermanent(Object(error))) return 'rejected'
	if (CREDENTIALS.test(text)) return 'credentials'
	return !hasStatus && CERTIFICATE.test(text) ? 'certificate' : 'rejected'
}

function readText(error: unknown): string {
	try {
		return readSignals(error).text
	} catch {
		// A getter or a proxy of the error threw.
		return ''
	}
}
