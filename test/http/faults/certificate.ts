/**
 * A certificate for 127.0.0.1 that is made when a test needs it. Node can make keys and sign, and lacks only the envelope, which is the
 * little DER below; a key pair in the repository would have to be explained to every scanner for secrets, and would expire one day.
 */
import { generateKeyPairSync, sign } from 'node:crypto'

export interface TestCertificate {
	/** PEM. Self-signed: a client trusts it by taking it as its `ca`. */
	readonly cert: string
	readonly key: string
}

const SEQUENCE = 0x30
const SET = 0x31
const OID = 0x06
const UTF8 = 0x0c
const UTC_TIME = 0x17
const OCTETS = 0x04
const BITS = 0x03
const INTEGER = 0x02
const BOOLEAN = 0x01

const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OID, hex('2a8648ce3d040302')))
const NAME = der(SEQUENCE, der(SET, der(SEQUENCE, der(OID, hex('550403')), der(UTF8, 'test only'))))
/** A dNSName and an iPAddress. */
const LOOPBACK = [der(0x82, 'localhost'), der(0x87, hex('7f000001'))]
const OTHER_HOST = [der(0x82, 'other.example.com')]

const extensions = (names: readonly Buffer[]) =>
	der(
		0xa3,
		der(
			SEQUENCE,
			// An authority of its own, so that it may be trusted as one.
			extension('551d13', der(SEQUENCE, der(BOOLEAN, hex('ff')))),
			extension('551d11', der(SEQUENCE, ...names)),
		),
	)

/** What is wrong with a certificate. */
export type CertificateFault = 'expired' | 'not yet valid' | 'wrong host'

const VALIDITY: Readonly<Partial<Record<CertificateFault, readonly [from: string, until: string]>>> = {
	expired: ['200101000000Z', '200102000000Z'],
	'not yet valid': ['490101000000Z', '491231235959Z'],
}

/** A new key and its certificate, valid for 127.0.0.1 and localhost unless a fault is given. */
export function makeCertificate(fault?: CertificateFault): TestCertificate {
	const [from, until] = (fault && VALIDITY[fault]) ?? ['200101000000Z', '491231235959Z']
	const validity = der(SEQUENCE, der(UTC_TIME, from), der(UTC_TIME, until))
	const names = extensions(fault === 'wrong host' ? OTHER_HOST : LOOPBACK)
	const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
	const spki = publicKey.export({ type: 'spki', format: 'der' })
	const version = der(0xa0, der(INTEGER, hex('02')))
	const serial = der(INTEGER, hex('01'))
	const body = der(SEQUENCE, version, serial, ECDSA_WITH_SHA256, NAME, validity, NAME, spki, names)
	const signature = der(BITS, hex('00'), sign('sha256', body, privateKey))
	const certificate = der(SEQUENCE, body, ECDSA_WITH_SHA256, signature)
	const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
	return {
		cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
		key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
	}
}

function extension(id: string, value: Buffer): Buffer {
	return der(SEQUENCE, der(OID, hex(id)), der(OCTETS, value))
}

/** Tag, length, content. */
function der(tag: number, ...parts: readonly (string | Uint8Array)[]): Buffer {
	const content = Buffer.concat(parts.map((part) => Buffer.from(part)))
	const { length } = content
	const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
	return Buffer.concat([Buffer.from(head), content])
}

function hex(text: string): Buffer {
	return Buffer.from(text, 'hex')
}
