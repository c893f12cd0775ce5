//! Talk that is not for everybody: people, weaknesses, business, and how things are built here.
//!
//! One word is rarely enough. "Vulnerability", "profit", "acquisition" and "attack" are at home in biology, in
//! hydrology and in aerodynamics; a rule either asks for the phrase that only an organisation uses, or looks at the
//! words around the match.

mod context;

use super::Category::{Business, Personnel, Security, Technical};
use super::{Pattern, always};
use context::{
    about_money, not_a_promoter, not_a_public_revenue, not_a_ratio, not_an_age, not_interdisciplinary, noun_of_money,
    noun_or_attack, of_a_person, of_a_system,
};

pub(super) const PATTERNS: &[Pattern] = &[
    // People (BDY-03).
    Pattern {
        category: Personnel,
        name: "pay",
        regex: concat!(
            r"(?i)\b(?:salary|salaries|wage (?:rise|increase|claim)|pay(?:[ -]rise|[ -]raise|slips?|roll|[ -]grade)",
            r"|annual bonus|bonus payments?|severance (?:pay|package|agreement)|compensation package",
            r"|gehalt|gehälter|gehalts[a-zäöüß]{3,20}|lohnerhöhung|salaire|sueldo|salario|nómina)\b",
        ),
        counts: always,
    },
    Pattern {
        category: Personnel,
        name: "performance-review",
        regex: concat!(
            r"(?i)\b(?:performance (?:reviews?|appraisals?|improvement plan|rating)|(?:employee|staff|annual) appraisals?",
            r"|mitarbeitergespräch\w{0,4}|leistungsbeurteilung|entretien annuel|evaluación de desempeño)\b",
        ),
        counts: of_a_person,
    },
    Pattern {
        category: Personnel,
        name: "hiring",
        regex: concat!(
            r"(?i)\b(?:hiring (?:decisions?|committee|recommendation|manager|plan|panel|freeze)|job offer|offer letter",
            r"|interview (?:feedback|scorecard)|(?:rejected|reject|turned down) the (?:candidate|applicant)",
            r"|(?:candidate|applicant)s? (?:was|were) (?:rejected|turned down|declined)|(?:no|strong)[ -]hire\b",
            r"|(?:decided|decision|agreed|recommend(?:ed|ation)?|want|voted) (?:not )?to hire (?:him|her|them|the candidate|the applicant|(?-i:[A-Z][a-z]+))|(?:not|never) hire (?-i:[A-Z][a-z]+))\b",
            r"|\b(?:spoke|talked|thinking|decided|talks) (?:about|of|on) (?:hiring|firing|dismissing)\b",
        ),
        counts: always,
    },
    Pattern {
        category: Personnel,
        name: "one-to-one",
        regex: concat!(
            r"(?i)\b(?:1:1|1-on-1|1-to-1|one[ -]on[ -]one|one-to-one) (?:notes?|meetings?|conversations?|talks?|feedback|agenda|minutes)\b",
            r"|\b(?:notes?|minutes|summary) (?:from|of|for) (?:(?:the|my|our|a|his|her|today's|last) )?(?:weekly |monthly )?(?:1:1|1-on-1|one[ -]on[ -]one|one-to-one)\b",
            r"|\b(?:next|last|my|our|weekly|monthly|yesterday's|today's) (?:1:1|1-on-1|one[ -]on[ -]one)\b",
            r"|(?:^|\n)[#*> -]{0,5}(?:1:1|1-on-1|one-on-one) with (?-i:[A-Z][a-z]+)",
        ),
        counts: not_a_ratio,
    },
    Pattern {
        category: Personnel,
        name: "discipline",
        regex: concat!(
            r"(?i)\b(?:disciplinary (?:action|hearing|procedure|measure|meeting|warning|proceeding|record)s?",
            r"|(?:final written|first written|formal written) warning|termination of (?:his|her|their) (?:employment|contract)",
            r"|grievance (?:procedure|hearing|against)|harassment (?:complaint|allegation)s?|(?:fired|dismissed|sacked|terminated) for (?:cause|misconduct|theft|poor)|(?:sick|medical) leave of (?-i:[A-Z][a-z]+)",
            r"|laid off|lay-?offs|personnel files?|personalakte|abmahnung|kündigungsgespräch|krankmeldung)\b",
        ),
        counts: not_interdisciplinary,
    },
    // Weaknesses and attacks (BDY-04).
    Pattern { category: Security, name: "cve", regex: r"(?i)\bCVE-[0-9]{4}-[0-9]{4,7}\b", counts: always },
    Pattern {
        category: Security,
        name: "vulnerability",
        regex: r"(?i)\bvulnerabilit(?:y|ies)\b|\bsicherheitslücken?\b|\bfailles? de sécurité\b|\bschwachstelle in der (?:firmware|software)\b",
        counts: of_a_system,
    },
    Pattern {
        category: Security,
        name: "exploit",
        regex: concat!(
            r"(?i)\b(?:(?:an|no|the|working|public|known|remote|kernel|browser|proof-of-concept|PoC) exploits?\b(?: code| kit| chain)?|exploit (?:code|kit|chain|for)",
            r"|exploited (?:in the wild|by (?:an? )?attackers?|remotely)|(?:remotely|actively) exploit(?:able|ed)",
            r"|exploit(?:s|ed|ing|ation)? (?:of )?(?:the |this |a |an |that )?(?:vulnerabilit(?:y|ies)|bug|flaw|weakness|security hole|backdoor|overflow)",
            r"|attackers? (?:can|could|may|might|will)? ?(?:exploit(?:s|ed|ing)?|gain(?:s|ed)?|read|inject|steal|bypass))\b",
        ),
        counts: noun_or_attack,
    },
    Pattern {
        category: Security,
        name: "zero-day",
        regex: r"(?i)\b(?:zero|0)[- ]day (?:exploit|vulnerabilit(?:y|ies)|attack|flaw|bug|patch)s?\b|\bzero-days?\b|\b0days?\b|\b0-day (?:in|for|against) (?:our|the)\b",
        counts: not_an_age,
    },
    Pattern {
        category: Security,
        name: "security-incident",
        regex: concat!(
            r"(?i)\b(?:(?:security|cyber|cyber-?security|privacy|data protection|phishing|ransomware|malware|hacking) (?:incident|breach)(?:s|es)?",
            r"|(?:data|network|account|credential|password|e-?mail|database) (?:breach(?:es)?|leaks?)|sicherheitsvorf(?:all|älle)|datenpanne|fuite de données",
            r"|breach of (?:our|the) (?:network|server|database|mail|e-mail|system|portal|firewall)s?",
            r"|(?:were|been|got|was) hacked|compromised (?:accounts?|credentials?|hosts?|servers?|machines?|passwords?|keys?)",
            r"|(?:credentials?|passwords?|accounts?|servers?|keys?|tokens?) (?:was|were|has been|have been|got) (?:compromised|leaked|stolen|hacked)",
            r"|unauthori[sz]ed (?:access to|login|log-in)|breached (?:our|the) (?:network|server|firewall|perimeter|system|database|portal)s?)\b",
        ),
        counts: always,
    },
    Pattern {
        category: Security,
        name: "intrusion",
        regex: concat!(
            r"(?i)\b(?:(?:network|attempted|suspected|unauthori[sz]ed|cyber|computer) intrusions?|intrusion (?:attempts?|alerts?|detection alerts?)",
            r"|intrusions? into (?:our|the|a) (?:network|server|system|control|portal|scada|office)\w{0,8}|intruders? (?:had|has|gained|got|used|logged|moved|accessed))\b",
        ),
        counts: always,
    },
    Pattern {
        category: Security,
        name: "attack",
        regex: concat!(
            r"(?i)\b(?:cyber-?attacks?|(?:brute[- ]force|denial[- ]of[- ]service|ddos|man-in-the-middle|supply[- ]chain|phishing|spear-phishing|ransomware|side-channel|replay) attacks?",
            r"|(?:sql|code|command|prompt|ldap|shell) injections?|cross-site (?:scripting|request forgery)|remote code execution|privilege escalation|authentication bypass",
            r"|buffer overflows?|path traversal|ransomware|malware|rootkits?|phishing (?:mails?|e-?mails?|campaigns?)|penetration[- ]test(?:s|ing)? (?:report|finding|result|found|showed|revealed)s?|pen-?test (?:report|finding|result|found|showed)s?|(?-i:XSS))\b",
        ),
        counts: always,
    },
    // Business (BDY-05).
    Pattern {
        category: Business,
        name: "revenue",
        regex: r"(?i)\b(?:revenues?|umsatz[a-zäöüß]{0,10}|chiffre d.affaires|ingresos (?:netos|anuales)|EBITDA?|monthly recurring revenue|net loss(?:es)? of (?:[€$£]|[0-9])|cash[- ]flow forecast|sales (?:forecast|pipeline|target)s?|budget (?:forecast|proposal))\b",
        counts: not_a_public_revenue,
    },
    Pattern {
        category: Business,
        name: "profit",
        regex: r"(?i)\b(?:profits?|profit margins?|(?:gross|operating|net) margins?|bénéfice net|gewinnmarge)\b",
        counts: noun_of_money,
    },
    Pattern { category: Business, name: "recurring-revenue", regex: r"\b(?:MRR|ARR)\b", counts: about_money },
    Pattern {
        category: Business,
        name: "unreleased",
        regex: concat!(
            r"(?i)\b(?:unreleased (?:product|feature|version|model|figure|result|device|service|firmware|software|prototype|plan|tariff|report|number|app|financial|earning|quarterly|game|hardware)\w{0,6}",
            r"|unannounced (?:product|feature|merger|acquisition|plan|tariff|launch|deal|partnership)s?|not (?:yet )?(?:been )?(?:announced|made public|publicly announced|publicly released)",
            r"|under embargo|embargoed until|before (?:it|this|that) is (?:announced|published|made public))\b",
        ),
        counts: always,
    },
    Pattern {
        category: Business,
        name: "customer-data",
        regex: concat!(
            r"(?i)\b(?:(?:customer|subscriber|consumer)s?'? (?:data|records|lists?|databases?|addresses|master data|contracts?)|client (?:lists?|contracts?|database)",
            r"|data of (?:our |all |the )?customers|kundendaten|données clients?|datos de clientes|personally identifiable information|(?-i:PII))\b",
        ),
        counts: not_a_promoter,
    },
    Pattern {
        category: Business,
        name: "acquisition",
        regex: concat!(
            r"(?i)\b(?:(?:planned|proposed|pending|hostile|confidential|company|possible|upcoming) (?:acquisition|takeover|merger)s?",
            r"|acquisition (?:offer|talks|price|bid|negotiations?|candidate|deal|target company)|acquisition of (?:the company|a competitor|our competitor|a rival|\S{2,30} (?:gmbh|inc|ltd|ag|plc|llc|corp))",
            r"|(?:merger|takeover) (?:talks|agreement|negotiations?|offer|bid)|mergers and acquisitions|M&A|(?:commercial|financial|legal) due diligence|letter of intent|term sheet|(?:to|will|would) acquire \S{2,30} (?:gmbh|inc|ltd|ag|plc|llc|corp))\b",
        ),
        counts: always,
    },
    Pattern {
        category: Business,
        name: "strategy",
        regex: concat!(
            r"(?i)\b(?:(?:business|company|corporate|pricing|sales|commercial|go-to-market|negotiating|negotiation|bidding|exit|tender|investment|tariff|product) strateg(?:y|ies)",
            r"|(?:confidential|internal|product|secret|unpublished) roadmaps?|unternehmensstrategie|preisstrategie|stratégie commerciale|business plan|board (?:paper|minutes))\b",
        ),
        counts: always,
    },
    Pattern {
        category: Business,
        name: "marking",
        regex: concat!(
            r"(?i)\b(?:(?:strictly|company|highly|commercially|business) confidential|commercial(?:ly)?[ -]in[ -]confidence|trade secrets?|confidential (?:report|memo|document|information about our|agreement|offer|bid|pricing)",
            r"|streng vertraulich|betriebsgeheimnis|non-disclosure agreement|strictement confidentiel|estrictamente confidencial|(?-i:CONFIDENTIAL))\b",
        ),
        counts: always,
    },
    // How things are built here (BDY-06). A public text must not become internal because it speaks of software, so
    // only what a team says of its own work counts.
    Pattern {
        category: Technical,
        name: "architecture",
        regex: concat!(
            r"(?i)\b(?:our (?:system|software|service|microservice|network|cloud|backend|technical|application|data)? ?architecture|(?:system|software|service|microservices?|application|solution) architecture",
            r"|architectur(?:e|al) (?:decision|diagram|review)(?: record)?s?|design patterns?|technical (?:design|debt|decision)s?|design decisions?",
            r"|(?:repository|observer|factory|singleton|adapter|strategy|actor|event-sourcing|retry) pattern",
            r"|we (?:have )?(?:decided|chose|agreed) to (?:use|adopt|migrate|switch|deploy))\b|\bADR[- ][0-9]{1,4}\b",
        ),
        counts: always,
    },
    Pattern {
        category: Technical,
        name: "code",
        regex: concat!(
            r"(?i)\b(?:(?:our|proprietary|internal|closed) (?:source code|code ?base|repository|monorepo)|code reviews?|code ?base|pull requests?|merge requests?|database schema|schema migration|deployment (?:pipeline|script)s?",
            r"|stack ?trace|feature flags?|build pipeline|ci pipeline|unit tests?|internal (?:api|endpoint|service|hostname|tool)s?)\b",
        ),
        counts: always,
    },
    Pattern {
        category: Technical,
        name: "internal-marking",
        regex: r"(?i)\b(?:for internal use(?: only)?|internal use only|internal only|nur für den (?:internen )?dienstgebrauch|usage interne)\b",
        counts: always,
    },
];
