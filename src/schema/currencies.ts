// The currencies of ISO 4217 and their exponents: how many decimals the main unit has.

const BY_EXPONENT: readonly (readonly [exponent: number, codes: string])[] = [
  [0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
     CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
     GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL
     MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR
     PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
     TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, "BHD IQD JOD KWD LYD OMR TND"],
  [4, "CLF UYW"],
  // Withdrawn from the standard since 2021, and still found in older data that is imported.
  [2, "ANG BGN CUC HRK SLL ZWL"],
];

/** Code to exponent: `CURRENCIES.JPY` is 0, `CURRENCIES.KWD` is 3. */
export const CURRENCIES: Readonly<Record<string, number>> = Object.freeze(
  Object.fromEntries(
    BY_EXPONENT.flatMap(([exponent, codes]) =>
      codes.split(/\s+/).map((code) => [code, exponent] as const),
    ),
  ),
);
